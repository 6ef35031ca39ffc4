import { isJsonObject, ownMember, type JsonObject, type JsonValue } from "./json.ts";
import { MAX_ID_LENGTH, isRequestId } from "./message.ts";
import { pathText } from "./problem.ts";
import { LOG_LEVELS, META, PROTOCOL_VERSION, type LogLevel } from "./revision.ts";
import { wireErrors, type RequestId, type WireError } from "./wire-error.ts";

/** What a request says of itself. It holds for this request alone. */
export interface RequestMeta {
  readonly protocolVersion: string;
  /** Self-reported: for display and logs, never for a decision. */
  readonly clientInfo?: { readonly name: string; readonly version: string };
  /** `ClientCapabilities`, as it came. */
  readonly capabilities: JsonObject;
  /** The client wants progress, under this token. */
  readonly progressToken?: RequestId;
  /** The client wants log messages of this level and above; absent, it gets none. */
  readonly logLevel?: LogLevel;
  /** W3C Trace Context. One that does not parse is left out, as that text asks (§3.2). */
  readonly traceparent?: string;
  readonly tracestate?: string;
}

const MAX_VERSION_LENGTH = 64;
const MAX_CLIENT_TEXT = 1024;
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

const OBJECTS = ["experimental", "roots", "sampling", "elicitation", "extensions"];

/**
 * Reads `params._meta`; by hand, for every request has one. Unknown keys pass. Throws `invalidMeta` (-32602, 400) that
 * names the field which is missing or has the wrong type; its data lists the supported versions, for a legacy client that
 * has no `_meta` to send.
 */
export function parseRequestMeta(params: JsonObject | undefined): RequestMeta {
  const meta = params && ownMember(params, "_meta");
  if (!isJsonObject(meta)) {
    throw wireErrors.invalidMeta(
      `params._meta: expected an object (each request of MCP ${PROTOCOL_VERSION} says its version and capabilities there)`,
    );
  }
  const protocolVersion = neededText(meta, [META.protocolVersion], MAX_VERSION_LENGTH);
  const capabilities = ownMember(meta, META.clientCapabilities);
  if (!isJsonObject(capabilities)) throw refused([META.clientCapabilities], "an object");
  const clientInfo = clientInfoOf(meta);
  const progressToken = progressTokenOf(meta);
  const logLevel = logLevelOf(meta);
  const traceparent = textOf(meta, "traceparent");
  const tracestate = textOf(meta, "tracestate");
  assertCapabilities(capabilities);
  const traced = traceparent !== undefined && TRACEPARENT.test(traceparent);
  return {
    protocolVersion,
    capabilities,
    ...(clientInfo && { clientInfo }),
    ...(progressToken !== undefined && { progressToken }),
    ...(logLevel && { logLevel }),
    ...(traced && { traceparent }),
    ...(traced && tracestate !== undefined && { tracestate }),
  };
}

function clientInfoOf(meta: JsonObject): RequestMeta["clientInfo"] {
  const info = ownMember(meta, META.clientInfo);
  if (info === undefined) return undefined;
  if (!isJsonObject(info)) throw refused([META.clientInfo], "an object");
  return {
    name: neededText(info, [META.clientInfo, "name"], MAX_CLIENT_TEXT),
    version: neededText(info, [META.clientInfo, "version"], MAX_CLIENT_TEXT),
  };
}

function progressTokenOf(meta: JsonObject): RequestId | undefined {
  const token = ownMember(meta, "progressToken");
  if (token === undefined || isRequestId(token)) return token;
  throw refused(["progressToken"], `an integer or a string of at most ${MAX_ID_LENGTH} characters`);
}

function logLevelOf(meta: JsonObject): LogLevel | undefined {
  const given = ownMember(meta, META.logLevel);
  if (given === undefined) return undefined;
  const level = LOG_LEVELS.find((known) => known === given);
  if (level === undefined) throw refused([META.logLevel], `one of ${LOG_LEVELS.join(", ")}`);
  return level;
}

/** The text at the end of the path, which is a member of `object`. */
function neededText(object: JsonObject, path: readonly string[], maxLength: number): string {
  const text = ownMember(object, path.at(-1) ?? "");
  if (typeof text !== "string") throw refused(path, "a string");
  if (text.length > maxLength) throw refused(path, `at most ${maxLength} characters`);
  return text;
}

function textOf(meta: JsonObject, name: string): string | undefined {
  const text = ownMember(meta, name);
  if (text === undefined || typeof text === "string") return text;
  throw refused([name], "a string");
}

function refused(path: readonly string[], expected: string): WireError {
  return wireErrors.invalidMeta(`${pathText("params._meta", path)}: expected ${expected}`);
}

/** The capabilities that this revision defines are objects, and so is each extension's setting. */
function assertCapabilities(capabilities: JsonObject): void {
  for (const name of OBJECTS) assertObject(ownMember(capabilities, name), [name]);
  const extensions = ownMember(capabilities, "extensions");
  if (!isJsonObject(extensions)) return;
  for (const [name, settings] of Object.entries(extensions)) assertObject(settings, ["extensions", name]);
}

function assertObject(value: JsonValue | undefined, path: readonly string[]): void {
  if (value === undefined || isJsonObject(value)) return;
  throw refused([META.clientCapabilities, ...path], "an object");
}
