import { eventData, type TaskStream, openTaskStream } from "./task-stream.ts";
import { until } from "./until.ts";
import { callResult, wireMessage, wireTask } from "./wire-message.ts";
import type { CallResult, Json, WireErrorBody, WireMessage, WireTask } from "./wire-message.ts";

const VERSION = "2026-07-28";
const META = "io.modelcontextprotocol";

/** What a test's client declares unless it says otherwise: forms, and tasks. */
export const TASK_CLIENT = { elicitation: { form: {} }, extensions: { [`${META}/tasks`]: {} } };

const ENDS: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

/** One answer over HTTP, whole. */
export interface WireReply {
  readonly httpStatus: number;
  readonly headers: Headers;
  /** The body as it came. */
  readonly text: string;
  readonly result?: Json;
  readonly error?: WireErrorBody;
  /** Messages that came before the answer, on a stream. */
  readonly before: readonly WireMessage[];
}

/** Where, as whom, and what the client can do. */
export interface WireClientOptions {
  readonly url: string;
  readonly token: string;
  /** Default {@link TASK_CLIENT}. */
  readonly capabilities?: Json;
}

/** How one request differs from the usual. */
export interface PostOptions {
  readonly id?: number | string;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
  readonly meta?: Json;
}

/** The server answered with a JSON-RPC error where a test wanted a result. */
export class WireFailure extends Error {
  readonly code: number;
  readonly data: unknown;
  readonly httpStatus: number;

  constructor(method: string, { error, httpStatus, text }: WireReply) {
    super(`${method}: HTTP ${httpStatus} ${error?.code} ${error?.message ?? text}`);
    this.code = error?.code ?? 0;
    this.data = error?.data;
    this.httpStatus = httpStatus;
  }
}

/** A client that shows what is on the wire, and keeps nothing between requests. */
export interface WireClient {
  readonly url: string;
  /** Whatever the server says, as it says it. Rejects only when there is no answer at all. */
  post(method: string, params: Json, options?: PostOptions): Promise<WireReply>;
  /** `tools/call`: the result, whatever its type. Rejects with {@link WireFailure}. */
  call(name: string, args: Json, more?: Json): Promise<CallResult>;
  /** `tools/call` of what becomes a task: its id. */
  create(name: string, args: Json): Promise<string>;
  get(taskId: string): Promise<WireTask>;
  update(taskId: string, inputResponses: Json): Promise<Json>;
  cancel(taskId: string): Promise<Json>;
  /** Opens a stream and resolves once it is acknowledged. Close it, or hold it with `await using`. */
  listen(taskIds: readonly string[]): Promise<TaskStream>;
  /** Listens until the task has the status, and reads it. Rejects when it has ended in another. */
  untilStatus(taskId: string, status: WireTask["status"], timeoutMs?: number): Promise<WireTask>;
  /** Listens until the task has ended, and reads it. */
  untilOver(taskId: string): Promise<WireTask>;
}

/** A {@link WireClient}. */
export function createWireClient({ url, token, capabilities = TASK_CLIENT }: WireClientOptions): WireClient {
  let lastId = 0;

  const send = (method: string, params: Json, options: PostOptions): Promise<Response> => {
    lastId += 1;
    const name = params["taskId"] ?? params["name"] ?? params["uri"];
    const meta = {
      [`${META}/protocolVersion`]: VERSION,
      [`${META}/clientInfo`]: { name: "perdure-tests", version: "0" },
      [`${META}/clientCapabilities`]: capabilities,
      ...options.meta,
    };
    const headers = new Headers({
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      ...(typeof name === "string" && isPlain(name) && { "mcp-name": name }),
    });
    for (const [header, value] of Object.entries(options.headers ?? {})) headers.set(header, value);
    return fetch(url, {
      method: "POST",
      headers,
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: options.id ?? lastId,
        method,
        params: { ...params, _meta: meta },
      }),
      signal: options.signal ?? null,
    });
  };

  const post = async (method: string, params: Json, options: PostOptions = {}): Promise<WireReply> => {
    const response = await send(method, params, options);
    const text = await response.text();
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const messages = (isStream ? text.split("\n\n").map(eventData) : [text]).filter(Boolean);
    const parsed = messages.map((message) => wireMessage.parse(JSON.parse(message)));
    const last = parsed.at(-1);
    return {
      httpStatus: response.status,
      headers: response.headers,
      text,
      before: parsed.slice(0, -1),
      ...(last?.result && { result: last.result }),
      ...(last?.error && { error: last.error }),
    };
  };

  const resultOf = async (method: string, params: Json): Promise<Json> => {
    const reply = await post(method, params);
    if (reply.result === undefined) throw new WireFailure(method, reply);
    return reply.result;
  };

  const client: WireClient = {
    url,
    post,
    call: async (name, args, more = {}) =>
      callResult.parse(await resultOf("tools/call", { name, arguments: args, ...more })),
    async create(name, args) {
      const created = await client.call(name, args);
      if (created.resultType !== "task" || created.taskId === undefined)
        throw new Error(`${name} became no task: ${JSON.stringify(created)}`);
      return created.taskId;
    },
    get: async (taskId) => wireTask.parse(await resultOf("tasks/get", { taskId })),
    update: (taskId, inputResponses) => resultOf("tasks/update", { taskId, inputResponses }),
    cancel: (taskId) => resultOf("tasks/cancel", { taskId }),
    listen: (taskIds) =>
      openTaskStream((signal) =>
        send("subscriptions/listen", { notifications: { taskIds } }, { signal, id: `listen-${lastId}` }),
      ),
    async untilStatus(taskId, status, timeoutMs = 15_000) {
      await using stream = await client.listen([taskId]);
      const seen = await until(
        () => stream.tasks.find((task) => task.status === status || ENDS.has(task.status)),
        { what: `task ${taskId} to be ${status}`, timeoutMs },
      );
      if (seen.status !== status) throw new Error(`The task is not ${status}: ${JSON.stringify(seen)}`);
      return client.get(taskId);
    },
    async untilOver(taskId) {
      await using stream = await client.listen([taskId]);
      await until(() => stream.tasks.some(({ status }) => ENDS.has(status)), {
        what: `the end of task ${taskId}`,
        timeoutMs: 15_000,
      });
      return client.get(taskId);
    },
  };
  return client;
}

/** What a header can carry as it is; a test gives any other name in its own headers. */
function isPlain(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}
