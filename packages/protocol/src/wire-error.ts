import type { JsonObject, JsonValue } from "./json.ts";
import { SUPPORTED_VERSIONS } from "./revision.ts";

/** A JSON-RPC request id: a string or an integer, never null (basic/index §Requests). */
export type RequestId = string | number;

/** Every JSON-RPC error code that the server itself gives (basic/index §Error Codes). */
export const RPC = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/**
 * Each way to refuse a request, with its JSON-RPC code and HTTP status.
 *
 * What is refused before a handler runs (envelope, `_meta`, headers, method, capability) has the HTTP status that the
 * specification demands. What a handler refuses (a parameter, an unknown tool or task, a tool's protocol error) is an
 * answer like any other: HTTP 200 with the error inside, as the official server gives it. Only a missing capability
 * is 400 wherever it is found. So a gateway sees 4xx for a request that was never understood and 5xx for a server
 * that is unwell, and no status tells a stranger's task id from a malformed one.
 */
export const WIRE_ERRORS = {
  parseError: { rpcCode: RPC.parseError, httpStatus: 400 },
  invalidRequest: { rpcCode: RPC.invalidRequest, httpStatus: 400 },
  unauthorized: { rpcCode: RPC.invalidRequest, httpStatus: 401 },
  forbidden: { rpcCode: RPC.invalidRequest, httpStatus: 403 },
  methodNotAllowed: { rpcCode: RPC.invalidRequest, httpStatus: 405 },
  notAcceptable: { rpcCode: RPC.invalidRequest, httpStatus: 406 },
  requestTimeout: { rpcCode: RPC.invalidRequest, httpStatus: 408 },
  payloadTooLarge: { rpcCode: RPC.invalidRequest, httpStatus: 413 },
  unsupportedMediaType: { rpcCode: RPC.invalidRequest, httpStatus: 415 },
  /** `params._meta` is missing, incomplete or ill-typed (basic/index §Per-request protocol fields). */
  invalidMeta: { rpcCode: RPC.invalidParams, httpStatus: 400 },
  headerMismatch: { rpcCode: RPC.headerMismatch, httpStatus: 400 },
  unsupportedVersion: { rpcCode: RPC.unsupportedVersion, httpStatus: 400 },
  methodNotFound: { rpcCode: RPC.methodNotFound, httpStatus: 404 },
  missingCapability: { rpcCode: RPC.missingCapability, httpStatus: 400 },
  rateLimited: { rpcCode: RPC.internalError, httpStatus: 429 },
  /** A handler's: malformed params, an unknown tool, prompt, resource, task or cursor, a bad `requestState`. */
  invalidParams: { rpcCode: RPC.invalidParams, httpStatus: 200 },
  internal: { rpcCode: RPC.internalError, httpStatus: 500 },
  unavailable: { rpcCode: RPC.internalError, httpStatus: 503 },
} as const;

/** A key of {@link WIRE_ERRORS}, or `"application"`: an error that a tool gave with a code of its own. */
export type WireErrorKind = keyof typeof WIRE_ERRORS | "application";

/** What a {@link WireError} may carry beside its kind and message. */
export interface WireErrorDetails {
  /** The JSON-RPC error's `data`. */
  readonly data?: JsonValue;
  /** HTTP response headers, such as `Retry-After`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The id of the refused message, when the message is refused as a whole but its id could be read. */
  readonly requestId?: RequestId;
  readonly cause?: unknown;
}

/** A request that is answered with a JSON-RPC error. `message` and `data` are sent to the client as they are. */
export class WireError extends Error {
  override readonly name = "WireError";
  readonly code = "wire_error";
  readonly kind: WireErrorKind;
  readonly rpcCode: number;
  readonly httpStatus: number;
  readonly data: JsonValue | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestId: RequestId | undefined;

  /** `shape` is a kind of the table, or the code of a tool's own error, which is answered in-band. */
  constructor(shape: keyof typeof WIRE_ERRORS | number, message: string, details: WireErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    const { rpcCode, httpStatus } =
      typeof shape === "number" ? { rpcCode: shape, httpStatus: statusOfCode(shape) } : WIRE_ERRORS[shape];
    this.kind = typeof shape === "number" ? "application" : shape;
    this.rpcCode = rpcCode;
    this.httpStatus = httpStatus;
    this.data = details.data;
    this.headers = details.headers ?? {};
    this.requestId = details.requestId;
  }
}

/** One maker per case of {@link WIRE_ERRORS}. Each returns the error; the caller throws it. */
export const wireErrors = {
  parseError: (message: string) => new WireError("parseError", message),
  invalidRequest: (message: string, requestId?: RequestId) =>
    new WireError("invalidRequest", message, requestId === undefined ? {} : { requestId }),
  /** `challenge` is the value of `WWW-Authenticate`. */
  unauthorized: (message: string, challenge: string) =>
    new WireError("unauthorized", message, { headers: { "WWW-Authenticate": challenge } }),
  /** `challenge` as above, when a scope is missing; absent for a foreign Host or Origin. */
  forbidden: (message: string, challenge?: string) =>
    new WireError(
      "forbidden",
      message,
      challenge === undefined ? {} : { headers: { "WWW-Authenticate": challenge } },
    ),
  methodNotAllowed: () =>
    new WireError("methodNotAllowed", "Method not allowed: use POST", { headers: { Allow: "POST" } }),
  notAcceptable: () =>
    new WireError("notAcceptable", "Not acceptable: accept application/json and text/event-stream"),
  requestTimeout: () => new WireError("requestTimeout", "The request body took too long to arrive"),
  payloadTooLarge: (maxBytes: number) =>
    new WireError("payloadTooLarge", `The request body is over ${maxBytes} bytes`),
  unsupportedMediaType: (message = "Unsupported media type: send application/json in UTF-8") =>
    new WireError("unsupportedMediaType", message),
  invalidMeta: (problem: string) =>
    new WireError("invalidMeta", `Invalid params: ${problem}`, { data: { supported: SUPPORTED_VERSIONS } }),
  headerMismatch: (problem: string) => new WireError("headerMismatch", `Header mismatch: ${problem}`),
  unsupportedVersion: (requested: string) =>
    new WireError("unsupportedVersion", "Unsupported protocol version", {
      data: { supported: SUPPORTED_VERSIONS, requested },
    }),
  /** A legacy client's `initialize` is told which versions there are (basic/versioning §Backward Compatibility). */
  methodNotFound: (method: string) =>
    new WireError(
      "methodNotFound",
      method === "initialize"
        ? `Method not found: this server speaks MCP ${SUPPORTED_VERSIONS.join(", ")}, which has no initialize`
        : "Method not found",
      method === "initialize" ? { data: { supported: SUPPORTED_VERSIONS } } : {},
    ),
  /** `requiredCapabilities` in the shape of `ClientCapabilities`: `{ elicitation: {} }`. */
  missingCapability: (requiredCapabilities: JsonObject, message = "Missing required client capability") =>
    new WireError("missingCapability", message, { data: { requiredCapabilities } }),
  /** The caller may try again after `retryAfterMs`; the header rounds up to whole seconds, at least one. */
  rateLimited: (retryAfterMs: number, message = "Too many requests") =>
    new WireError("rateLimited", message, retryAfter(retryAfterMs)),
  invalidParams: (message: string, data?: JsonValue) =>
    new WireError("invalidParams", message, data === undefined ? {} : { data }),
  /** `cause` is for the log; nothing of it is sent. */
  internal: (cause?: unknown, message = "Internal error") => new WireError("internal", message, { cause }),
  /** As `rateLimited`; the store or a worker cannot be reached. */
  unavailable: (retryAfterMs: number, cause?: unknown) =>
    new WireError("unavailable", "Service unavailable", { ...retryAfter(retryAfterMs), cause }),
  /** A tool's own JSON-RPC error, answered in-band. */
  application: (error: { readonly code: number; readonly message: string; readonly data?: JsonValue }) =>
    new WireError(error.code, error.message, error.data === undefined ? {} : { data: error.data }),
} as const;

function statusOfCode(rpcCode: number): number {
  return rpcCode === RPC.missingCapability ? 400 : 200;
}

function retryAfter(retryAfterMs: number): WireErrorDetails {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return { headers: { "Retry-After": String(seconds) }, data: { retryAfterMs: seconds * 1000 } };
}
