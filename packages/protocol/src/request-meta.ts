import { z } from "zod";
import { isJsonObject, jsonObject, ownMember, type JsonObject, type JsonValue } from "./json.ts";
import { MAX_ID_LENGTH } from "./message.ts";
import { pathText, problemOf } from "./problem.ts";
import { LOG_LEVELS, META, PROTOCOL_VERSION, type LogLevel } from "./revision.ts";
import { wireErrors, type RequestId } from "./wire-error.ts";

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

const clientText = z.string().max(MAX_CLIENT_TEXT, `expected at most ${MAX_CLIENT_TEXT} characters`);

const schema = z.object({
  [META.protocolVersion]: z
    .string()
    .max(MAX_VERSION_LENGTH, `expected at most ${MAX_VERSION_LENGTH} characters`),
  [META.clientInfo]: z.object({ name: clientText, version: clientText }).optional(),
  [META.clientCapabilities]: jsonObject,
  progressToken: z
    .union(
      [z.string().max(MAX_ID_LENGTH), z.int()],
      `expected an integer or a string of at most ${MAX_ID_LENGTH} characters`,
    )
    .optional(),
  [META.logLevel]: z.enum(LOG_LEVELS, `expected one of ${LOG_LEVELS.join(", ")}`).optional(),
  traceparent: z.string().optional(),
  tracestate: z.string().optional(),
});

const OBJECTS = ["experimental", "roots", "sampling", "elicitation", "extensions"];

/**
 * Reads `params._meta`. Unknown keys pass. Throws `invalidMeta` (-32602, 400) that names the field which is missing or
 * has the wrong type; its data lists the supported versions, for a legacy client that has no `_meta` to send.
 */
export function parseRequestMeta(params: JsonObject | undefined): RequestMeta {
  const meta = params && ownMember(params, "_meta");
  if (!isJsonObject(meta)) {
    throw wireErrors.invalidMeta(
      `params._meta: expected an object (each request of MCP ${PROTOCOL_VERSION} says its version and capabilities there)`,
    );
  }
  const parsed = schema.safeParse(meta);
  if (!parsed.success) throw wireErrors.invalidMeta(problemOf("params._meta", parsed.error));
  const { data } = parsed;
  const capabilities = data[META.clientCapabilities];
  assertCapabilities(capabilities);
  const { traceparent, tracestate, progressToken } = data;
  const clientInfo = data[META.clientInfo];
  const logLevel = data[META.logLevel];
  const traced = traceparent !== undefined && TRACEPARENT.test(traceparent);
  return {
    protocolVersion: data[META.protocolVersion],
    capabilities,
    ...(clientInfo && { clientInfo }),
    ...(progressToken !== undefined && { progressToken }),
    ...(logLevel && { logLevel }),
    ...(traced && { traceparent }),
    ...(traced && tracestate !== undefined && { tracestate }),
  };
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
  const where = pathText("params._meta", [META.clientCapabilities, ...path]);
  throw wireErrors.invalidMeta(`${where}: expected an object`);
}
