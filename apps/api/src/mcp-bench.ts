import { request } from "node:http";
import type { IncomingMessage } from "node:http";

/*
 * For tests: a client that sends what it is told to, byte by byte, and shows what came back.
 */

export const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

/** A JSON-RPC message as it came. */
export interface Message {
  readonly id?: string | number;
  readonly method?: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into whatever came
  readonly params?: any;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into whatever came
  readonly result?: any;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test looks into whatever came
  readonly error?: any;
}

/** How one request differs from a proper one. */
export interface Ask {
  /** Beside `_meta`. */
  readonly params?: object;
  readonly capabilities?: object;
  readonly meta?: object;
  readonly id?: string | number;
  /** Bearer token. */
  readonly as?: string;
  /** `undefined` leaves a header out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Sent instead of the JSON-RPC message. */
  readonly body?: string | Buffer;
  readonly httpMethod?: string;
}

/** One response. */
export interface Response {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  /** Every message: one, or those of an SSE stream. */
  readonly messages: readonly Message[];
  /** The last of them. */
  readonly message: Message;
}

/** A request under way. */
export interface Exchange {
  readonly response: Promise<Response>;
  /** Resolves when the headers have come. */
  readonly opened: Promise<IncomingMessage>;
  /** Messages of an SSE stream so far. */
  readonly messages: readonly Message[];
  /** Comments so far. */
  readonly comments: readonly string[];
  /** Hangs up. */
  hangUp(): void;
}

/** Sends a request and waits for all of its response. */
export function call(url: string, method: string, ask: Ask = {}): Promise<Response> {
  return begin(url, method, ask).response;
}

/** Sends a request. */
export function begin(url: string, method: string, ask: Ask = {}): Exchange {
  const sent = { ...ask.params, _meta: { ...metaOf(ask.capabilities), ...ask.meta } };
  const body = ask.body ?? JSON.stringify({ jsonrpc: "2.0", id: ask.id ?? 1, method, params: sent });
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    "mcp-name": nameOf(sent),
    authorization: ask.as === undefined ? undefined : `Bearer ${ask.as}`,
    "content-length": String(Buffer.byteLength(body)),
    ...ask.headers,
  };
  const messages: Message[] = [];
  const comments: string[] = [];
  const opened = Promise.withResolvers<IncomingMessage>();
  const response = Promise.withResolvers<Response>();
  opened.promise.catch(() => {});
  response.promise.catch(() => {});
  const outgoing = request(
    url,
    {
      method: ask.httpMethod ?? "POST",
      agent: false,
      headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined)),
    },
    (incoming) => {
      opened.resolve(incoming);
      let text = "";
      let rest = "";
      const isStream = incoming.headers["content-type"] === "text/event-stream";
      incoming.setEncoding("utf8");
      incoming.on("data", (chunk: string) => {
        text += chunk;
        if (!isStream) return;
        const blocks = (rest + chunk).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          if (block.startsWith(":")) comments.push(block);
          else messages.push(JSON.parse(block.replace(/^event: message\ndata: /, "")));
        }
      });
      incoming.on("error", (error) => response.reject(error));
      incoming.on("end", () => {
        if (!isStream && text !== "" && incoming.headers["content-type"]?.startsWith("application/json"))
          messages.push(JSON.parse(text));
        response.resolve({
          status: incoming.statusCode ?? 0,
          headers: incoming.headers,
          text,
          messages,
          message: messages.at(-1) ?? {},
        });
      });
    },
  );
  const fail = (error: Error): void => {
    opened.reject(error);
    response.reject(error);
  };
  outgoing.on("error", fail);
  outgoing.end(body);
  return {
    response: response.promise,
    opened: opened.promise,
    messages,
    comments,
    hangUp: () => outgoing.destroy(),
  };
}

export function metaOf(capabilities: object = {}): Readonly<Record<string, unknown>> {
  return {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "0" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
}

function nameOf(params: object): string | undefined {
  for (const key of ["taskId", "name", "uri"]) {
    const value: unknown = Reflect.get(params, key);
    if (typeof value === "string") return headerValueOf(value);
  }
  return undefined;
}

/** As a client encodes what no header can carry (MCP Streamable HTTP §Value Encoding). */
function headerValueOf(value: string): string {
  const isSafe = /^(?! )[\x20-\x7e]*(?<! )$/.test(value);
  return isSafe ? value : `=?base64?${Buffer.from(value).toString("base64")}?=`;
}
