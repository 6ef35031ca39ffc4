/** The revision of the Model Context Protocol that this package speaks, and the only one. */
export const PROTOCOL_VERSION = "2026-07-28";

/** What `-32022` and `server/discover` list. */
export const SUPPORTED_VERSIONS: readonly string[] = [PROTOCOL_VERSION];

/** The identifier of the Tasks extension (SEP-2663 §Extension Identifier). */
export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

/** The reserved keys of `_meta` (basic/index §_meta). */
export const META = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientInfo: "io.modelcontextprotocol/clientInfo",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities",
  logLevel: "io.modelcontextprotocol/logLevel",
  subscriptionId: "io.modelcontextprotocol/subscriptionId",
  serverInfo: "io.modelcontextprotocol/serverInfo",
} as const;

/** The levels of MCP logging, least first (server/utilities/logging §Log Levels, RFC 5424). */
export const LOG_LEVELS = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;

/** One of {@link LOG_LEVELS}. */
export type LogLevel = (typeof LOG_LEVELS)[number];
