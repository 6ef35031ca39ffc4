import { VERSION } from "@perdure/runtime";
import { z } from "zod";
import { CliError } from "../cli-error.ts";
import { readEvents } from "./sse-events.ts";

const PROTOCOL_VERSION = "2026-07-28";

/** What this client can do: fill in forms, and hold tasks. */
const CAPABILITIES = { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } };

const message = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({}).optional(),
  result: z.looseObject({ resultType: z.string() }).optional(),
  error: z.looseObject({ code: z.number(), message: z.string(), data: z.unknown().optional() }).optional(),
});

/** One JSON-RPC message from the server. */
export type ServerMessage = z.infer<typeof message>;

/** A result object: at least its `resultType`. */
export type ServerResult = NonNullable<ServerMessage["result"]>;

/** The server answered with a JSON-RPC error. */
export class ServerError extends CliError {
  readonly rpcCode: number;
  readonly data: unknown;

  constructor(rpcCode: number, text: string, data: unknown) {
    super(`The server refused (${rpcCode}): ${text}${data === undefined ? "" : ` ${JSON.stringify(data)}`}`);
    this.rpcCode = rpcCode;
    this.data = data;
  }
}

/** Nobody serves at the address for the moment: no connection, one that broke, or a proxy or replica that says so (HTTP 502 to 504). */
export class ServerUnavailable extends CliError {}

/** Where and as whom to call. */
export interface ServerAddress {
  /** The MCP endpoint. */
  readonly url: string;
  readonly token?: string | undefined;
}

/** One request. */
export interface ClientRequest {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** For `Mcp-Name`, where the method has one. */
  readonly name?: string;
  /** For `Mcp-Param-*`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The JSON-RPC id; the next number when absent. */
  readonly id?: number | string;
  readonly signal?: AbortSignal;
}

/** A client of one server: one POST per request, no state between them. */
export interface McpClient {
  /** Gives the result; notifications that come before it go to `onNotification`. A JSON-RPC error is a {@link ServerError}. */
  call(request: ClientRequest, onNotification?: (notification: ServerMessage) => void): Promise<ServerResult>;
  /** Every message of the answer, to its end. */
  messages(request: ClientRequest): AsyncGenerator<ServerMessage>;
}

/** A client for the server at an address. It opens nothing until the first request. */
export function createMcpClient(address: ServerAddress): McpClient {
  let lastId = 0;

  async function* messages(request: ClientRequest): AsyncGenerator<ServerMessage> {
    lastId += 1;
    const response = await post(address, request, request.id ?? lastId);
    const type = response.headers.get("content-type") ?? "";
    if (type.startsWith("text/event-stream") && response.body) {
      for await (const data of readEvents(response.body)) yield message.parse(JSON.parse(data));
      return;
    }
    const body = await response.text();
    if (response.status >= 502 && response.status <= 504) throw unavailable(response, body);
    if (response.status === 401 || !type.startsWith("application/json")) throw unreadable(response, body);
    yield message.parse(JSON.parse(body));
  }

  return {
    messages,
    async call(request, onNotification) {
      for await (const received of messages(request)) {
        if (received.error)
          throw new ServerError(received.error.code, received.error.message, received.error.data);
        if (received.result) return received.result;
        onNotification?.(received);
      }
      throw new ServerUnavailable(`The connection ended before the answer to ${request.method}`);
    },
  };
}

async function post(address: ServerAddress, request: ClientRequest, id: number | string): Promise<Response> {
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": PROTOCOL_VERSION,
    "mcp-method": request.method,
    ...(request.name === undefined ? {} : { "mcp-name": headerText(request.name) }),
    ...request.headers,
    ...(address.token ? { authorization: `Bearer ${address.token}` } : {}),
  };
  const params = {
    ...request.params,
    _meta: {
      progressToken: id,
      "io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION,
      "io.modelcontextprotocol/clientInfo": { name: "perdure", version: VERSION },
      "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
    },
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id, method: request.method, params });
  try {
    const signal = request.signal ?? null;
    return await fetch(address.url, { method: "POST", headers, body, signal });
  } catch (error) {
    if (request.signal?.aborted) throw error;
    const hint = 'start one with "npm start", or give --url';
    throw new ServerUnavailable(`No server answers at ${address.url}: ${hint}`, 1, { cause: error });
  }
}

/** A header value as SEP-2243 wants it: plain when it is printable ASCII, else the Base64 sentinel. */
export function headerText(value: string): string {
  const isPlain = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !/^=\?base64\?.*\?=$/.test(value);
  return isPlain ? value : `=?base64?${Buffer.from(value, "utf8").toString("base64")}?=`;
}

function unavailable(response: Response, body: string): ServerUnavailable {
  const said = /"message":"([^"]*)"/.exec(body)?.[1];
  return new ServerUnavailable(`The server answered HTTP ${response.status}${said ? `: ${said}` : ""}`);
}

function unreadable(response: Response, body: string): CliError {
  const challenge = response.headers.get("www-authenticate");
  const detail = /error_description="([^"]*)"/.exec(challenge ?? "")?.[1] ?? body.slice(0, 200);
  const hint =
    response.status === 401
      ? ' Give a token with --token, or run this where the server keeps its ".perdure" folder.'
      : "";
  return new CliError(`The server answered HTTP ${response.status}${detail ? `: ${detail}` : ""}.${hint}`);
}
