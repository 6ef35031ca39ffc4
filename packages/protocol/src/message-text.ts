import type { RequestId, WireError } from "./wire-error.ts";

/*
 * Messages as text. Results and params come as JSON text and are spliced in as they are: a stored result is neither
 * parsed nor written again on its way to the client.
 */

/** An SSE comment: keeps a quiet stream open, carries nothing. */
export const SSE_KEEP_ALIVE = ":\n\n";

/** A JSON-RPC result response. `resultJson` is an object's JSON text. */
export function resultText(id: RequestId, resultJson: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${resultJson}}`;
}

/** A JSON-RPC error response; without an `id` when none could be read. */
export function errorText(
  id: RequestId | undefined,
  error: Pick<WireError, "rpcCode" | "message" | "data">,
): string {
  const body = JSON.stringify({ code: error.rpcCode, message: error.message, data: error.data });
  const idMember = id === undefined ? "" : `"id":${JSON.stringify(id)},`;
  return `{"jsonrpc":"2.0",${idMember}"error":${body}}`;
}

/** A JSON-RPC notification. `paramsJson` is an object's JSON text. */
export function notificationText(method: string, paramsJson: string): string {
  return `{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${paramsJson}}`;
}

/** One SSE event of type `message`. Line breaks between JSON tokens become lines of the same event. */
export function sseEvent(text: string): string {
  return `event: message\ndata: ${/[\r\n]/.test(text) ? text.replaceAll(/\r\n|\r|\n/g, "\ndata: ") : text}\n\n`;
}

/** The object's text with one more member in front. The caller knows that the object has none of that name. */
export function withMember(objectJson: string, name: string, valueJson: string): string {
  const rest = objectJson.trimStart().slice(1).trimStart();
  return `{${JSON.stringify(name)}:${valueJson}${rest.startsWith("}") ? "" : ","}${rest}`;
}
