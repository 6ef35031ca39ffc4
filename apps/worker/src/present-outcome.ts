import type { Settlement } from "@perdure/tasks";
import type { JsonObject, JsonValue } from "@perdure/toolkit";
import type { RpcError } from "@perdure/toolkit/host";

/** Who served a call: the value of `_meta["io.modelcontextprotocol/serverInfo"]`. */
export interface ServerInfo {
  readonly name: string;
  readonly version: string;
}

/** What a result is made with. */
export interface PresentResultOptions {
  readonly serverInfo: ServerInfo;
  readonly maxResultBytes: number;
}

const SERVER_INFO = "io.modelcontextprotocol/serverInfo";
const INTERNAL_ERROR = -32603;
const LONGEST_MESSAGE = 2000;
const MAX_ERROR_BYTES = 65_536;

/**
 * The stored form of a tool's result: a whole `CallToolResult` with `resultType` and the server's identity in `_meta`.
 * One that is too large, or that JSON cannot hold, makes the task fail and says why.
 */
export function presentResult(
  result: JsonObject,
  { serverInfo, maxResultBytes }: PresentResultOptions,
): Settlement {
  let text: string;
  try {
    const meta = isObject(result["_meta"]) ? result["_meta"] : {};
    text = JSON.stringify({
      ...result,
      resultType: "complete",
      _meta: { ...meta, [SERVER_INFO]: serverInfo },
    });
  } catch {
    return presentInternalError("The tool's result cannot be written as JSON");
  }
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxResultBytes) return { status: "completed", result: text };
  return presentInternalError(
    `The tool's result has ${bytes} bytes; the limit is ${maxResultBytes} (PERDURE_MAX_RESULT_BYTES)`,
  );
}

/** The stored form of a JSON-RPC error. Data that JSON cannot hold, or over 64 KiB, is left out. */
export function presentError({ code, message, data }: RpcError): Settlement {
  const short = message.slice(0, LONGEST_MESSAGE);
  const whole = data === undefined ? undefined : stringify({ code, message: short, data });
  const error = whole ?? JSON.stringify({ code, message: short });
  return { status: "failed", error, statusMessage: short };
}

/** A failure that is the tool's or the server's, not the caller's (-32603). */
export function presentInternalError(message: string): Settlement {
  return presentError({ code: INTERNAL_ERROR, message });
}

/** The end of a task whose tool called it off. */
export function presentCancelled(reason: string): Settlement {
  return { status: "cancelled", statusMessage: reason.slice(0, LONGEST_MESSAGE) };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function stringify(value: unknown): string | undefined {
  try {
    const text = JSON.stringify(value);
    return Buffer.byteLength(text) <= MAX_ERROR_BYTES ? text : undefined;
  } catch {
    return undefined;
  }
}
