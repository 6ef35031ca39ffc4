/*
 * HTTP requests as text, made before the load begins: as a client of the 2026-07-28 protocol sends them.
 */

const META = "io.modelcontextprotocol";
const VERSION = "2026-07-28";

/** What a request says. */
export interface WireRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly token: string;
  /** For the `Mcp-Name` header. */
  readonly name?: string;
  readonly accept?: string;
}

/** One whole HTTP/1.1 request. */
export function httpRequest({ method, params, token, name, accept }: WireRequest): string {
  const meta = {
    [`${META}/protocolVersion`]: VERSION,
    [`${META}/clientInfo`]: { name: "bench", version: "0" },
    [`${META}/clientCapabilities`]: { extensions: { [`${META}/tasks`]: {} } },
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta: meta } });
  const lines = [
    "POST /mcp HTTP/1.1",
    "Host: 127.0.0.1",
    "Connection: keep-alive",
    `Authorization: Bearer ${token}`,
    "Content-Type: application/json",
    `Accept: ${accept ?? "application/json, text/event-stream"}`,
    `Mcp-Protocol-Version: ${VERSION}`,
    `Mcp-Method: ${method}`,
    ...(name === undefined ? [] : [`Mcp-Name: ${name}`]),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}
