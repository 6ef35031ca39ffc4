import { Agent as HttpAgent, type IncomingMessage, request as httpRequest } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { z } from "zod";
import { headerText } from "../client/mcp-client.ts";

/** A task as it is seen on the way. */
export const seenTask = z.looseObject({
  taskId: z.string(),
  status: z.enum(["working", "input_required", "completed", "failed", "cancelled"]),
  lastUpdatedAt: z.string(),
  pollIntervalMs: z.number().default(1000),
  inputRequests: z.record(z.string(), z.unknown()).default({}),
  result: z.looseObject({ content: z.array(z.looseObject({ text: z.string().optional() })) }).optional(),
});

/** One of {@link seenTask}. */
export type SeenTask = z.output<typeof seenTask>;

const message = z.looseObject({
  method: z.string().optional(),
  params: z.unknown().optional(),
  result: z.looseObject({}).optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
});

/** What a response says. `reason` is of few kinds: `HTTP 503`, `-32602 Task not found`, `ECONNRESET`, `timeout`. */
export type Answer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly reason: string };

/** How a request ended, and after how many milliseconds. */
export type Reply = Answer & { readonly ms: number };

/** One request. */
export interface LoadRequest {
  readonly method: string;
  readonly name?: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Connections that are kept, as a busy client keeps them. */
export interface LoadWire {
  /** Never rejects: what the server does is what is counted. A connection that was closed while idle is not held against it. */
  send(request: LoadRequest): Promise<Reply>;
  /** Listens for tasks until the stream ends or `signal` is aborted; gives why it ended. */
  listen(taskIds: readonly string[], onTask: (task: SeenTask) => void, signal: AbortSignal): Promise<string>;
  close(): void;
}

const VERSION = "2026-07-28";
const TIMEOUT_MS = 15_000;
const CAPABILITIES = { elicitation: { form: {} }, extensions: { "io.modelcontextprotocol/tasks": {} } };

/** A {@link LoadWire} to one server. */
export function createWire({
  url,
  token,
}: {
  readonly url: string;
  readonly token: string | undefined;
}): LoadWire {
  const isTls = url.startsWith("https:");
  const options = { keepAlive: true, maxSockets: 256, scheduling: "lifo" } as const;
  const agent = isTls ? new HttpsAgent(options) : new HttpAgent(options);
  const streams = isTls ? new HttpsAgent() : new HttpAgent();
  const start = isTls ? httpsRequest : httpRequest;
  let lastId = 0;

  const open = (asked: LoadRequest, signal: AbortSignal, from: HttpAgent): Promise<IncomingMessage> => {
    lastId += 1;
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: lastId,
      method: asked.method,
      params: {
        ...asked.params,
        _meta: {
          "io.modelcontextprotocol/protocolVersion": VERSION,
          "io.modelcontextprotocol/clientInfo": { name: "perdure-load", version: "0.1.0" },
          "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
        },
      },
    });
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const request = start(url, {
      method: "POST",
      agent: from,
      signal,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": VERSION,
        "mcp-method": asked.method,
        ...(asked.name !== undefined && { "mcp-name": headerText(asked.name) }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...asked.headers,
      },
    });
    request.once("response", resolve);
    request.once("error", (error) => reject(request.reusedSocket ? new StaleConnection(error) : error));
    request.end(body);
    return promise;
  };

  const exchange = async (asked: LoadRequest): Promise<Answer> => {
    const response = await open(asked, AbortSignal.timeout(TIMEOUT_MS), agent);
    const text = await textOf(response);
    return readAnswer(response.statusCode ?? 0, text);
  };

  return {
    async send(asked) {
      const startedMs = performance.now();
      let answer: Answer;
      try {
        answer = await exchange(asked).catch((error: unknown) => {
          if (error instanceof StaleConnection) return exchange(asked);
          throw error;
        });
      } catch (error) {
        answer = { ok: false, reason: reasonOf(error) };
      }
      return { ...answer, ms: performance.now() - startedMs };
    },

    async listen(taskIds, onTask, signal) {
      try {
        const params = { notifications: { taskIds } };
        const response = await open({ method: "subscriptions/listen", params }, signal, streams);
        if (response.statusCode !== 200) return `HTTP ${response.statusCode}`;
        let end = "cut off";
        for await (const data of eventsOf(response)) {
          const { method, params: told, result, error } = message.parse(JSON.parse(data));
          if (method === "notifications/tasks") onTask(seenTask.parse(told));
          if (result) end = "ended";
          if (error) end = String(error.code);
        }
        return end;
      } catch (error) {
        return signal.aborted ? "closed" : reasonOf(error);
      }
    },

    close() {
      agent.destroy();
      streams.destroy();
    },
  };
}

/** The server closed a kept connection just as it was used again. Any client sends such a request once more. */
class StaleConnection extends Error {
  override readonly name = "StaleConnection";
  readonly code: string;

  constructor(cause: Error) {
    super("The connection was closed while it was idle", { cause });
    this.code = reasonOf(cause);
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  response.setEncoding("utf8");
  let text = "";
  for await (const chunk of response) text += String(chunk);
  return text;
}

/** The data of each event of an SSE stream. */
async function* eventsOf(response: IncomingMessage): AsyncGenerator<string> {
  response.setEncoding("utf8");
  let rest = "";
  for await (const chunk of response) {
    const events = `${rest}${String(chunk)}`.split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const data = event.split("\n").filter((line) => line.startsWith("data:"));
      if (data.length > 0) yield data.map((line) => line.slice(5).trimStart()).join("\n");
    }
  }
}

/** Reads the body of a response. */
export function readAnswer(status: number, text: string): Answer {
  const parsed = message.safeParse(parseJson(text));
  const { result, error } = parsed.data ?? {};
  if (result) return { ok: true, result };
  if (status >= 400 && (status >= 500 || !error)) return { ok: false, reason: `HTTP ${status}` };
  return { ok: false, reason: error ? `${error.code} ${error.message}`.slice(0, 60) : "no answer" };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError" || error.name === "AbortError") return "timeout";
  return "code" in error && typeof error.code === "string" ? error.code : error.message.slice(0, 60);
}
