import { isJsonObject, ownMember, type JsonObject } from "./json.ts";
import { wireErrors, type RequestId } from "./wire-error.ts";

/** The longest string that a request id or a progress token may be, and the longest method name. */
export const MAX_ID_LENGTH = 256;

/** One message from a client. */
export type ClientMessage =
  | {
      readonly kind: "request";
      readonly id: RequestId;
      readonly method: string;
      /** As it came; `undefined` when absent. */
      readonly params: JsonObject | undefined;
    }
  /** Takes no answer, whatever it says. */
  | { readonly kind: "notification"; readonly method: string; readonly params: JsonObject | undefined };

/**
 * Checks the JSON-RPC envelope: one object, `jsonrpc` "2.0", a method, params that are an object if there are any, and
 * an id that is a string of at most 256 characters or a safe integer. No `id` member makes a notification.
 * Throws `invalidRequest` (-32600, 400) for anything else: a batch, a response (clients have nothing to answer), a
 * null, fractional or huge id. The error carries `requestId` when the id itself was good.
 */
export function parseMessage(value: unknown): ClientMessage {
  if (Array.isArray(value)) throw wireErrors.invalidRequest("Invalid request: batches are not supported");
  if (!isJsonObject(value)) throw wireErrors.invalidRequest("Invalid request: expected a JSON-RPC object");
  const isRequest = Object.hasOwn(value, "id");
  const rawId = ownMember(value, "id");
  const id = isRequestId(rawId) ? rawId : undefined;
  const method = ownMember(value, "method");
  const params = ownMember(value, "params");

  if (method === undefined && (Object.hasOwn(value, "result") || Object.hasOwn(value, "error"))) {
    throw wireErrors.invalidRequest("Invalid request: responses are not accepted");
  }
  const refuse = (problem: string) => wireErrors.invalidRequest(`Invalid request: ${problem}`, id);
  if (isRequest && id === undefined) {
    throw refuse(`id: expected an integer or a string of at most ${MAX_ID_LENGTH} characters`);
  }
  if (ownMember(value, "jsonrpc") !== "2.0") throw refuse('jsonrpc: expected "2.0"');
  if (typeof method !== "string") throw refuse("method: expected a string");
  if (method === "" || method.length > MAX_ID_LENGTH) {
    throw refuse(`method: expected 1 to ${MAX_ID_LENGTH} characters`);
  }
  if (params !== undefined && !isJsonObject(params)) throw refuse("params: expected an object");
  return id === undefined
    ? { kind: "notification", method, params }
    : { kind: "request", id, method, params };
}

/** True for a string of at most 256 characters or a safe integer. */
export function isRequestId(value: unknown): value is RequestId {
  return typeof value === "string" ? value.length <= MAX_ID_LENGTH : Number.isSafeInteger(value);
}
