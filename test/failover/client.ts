import { z } from "zod";
import { type SeenTask, type Verdict, seenTask } from "./history.ts";

const VERSION = "2026-07-28";
const META = "io.modelcontextprotocol";
const FORMS = { elicitation: { form: {} } };
const TASKS = { ...FORMS, extensions: { [`${META}/tasks`]: {} } };

/** Where a request goes, and who makes it. */
export interface Address {
  readonly url: string;
  readonly token: string;
}

/** What is asked. */
export interface Asked {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly timeoutMs: number;
  /** False for a client that knows no tasks. */
  readonly knowsTasks?: boolean;
}

/** What came back. */
export interface Answered {
  readonly verdict: Verdict;
  readonly result?: Readonly<Record<string, unknown>>;
  /** The result as it came. */
  readonly text: string;
  readonly error?: { readonly code: number; readonly message: string };
  readonly httpStatus: number;
}

/** A stream that was acknowledged. */
export interface OpenStream {
  readonly acknowledged: readonly string[];
  /** Resolves when nothing more will come. Never rejects. */
  readonly ended: Promise<void>;
  close(): void;
}

const reply = z.object({
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});
const acknowledgement = z.object({
  notifications: z.object({ taskIds: z.array(z.string()).default([]) }),
});

let lastId = 0;

function post({ url, token }: Address, asked: Asked, signal: AbortSignal): Promise<Response> {
  const { method, params, knowsTasks = true } = asked;
  lastId += 1;
  const name = params["taskId"] ?? params["name"];
  const meta = {
    [`${META}/protocolVersion`]: VERSION,
    [`${META}/clientInfo`]: { name: "chaos", version: "0" },
    [`${META}/clientCapabilities`]: knowsTasks ? TASKS : FORMS,
  };
  return fetch(url, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": VERSION,
      "mcp-method": method,
      ...(typeof name === "string" && { "mcp-name": name }),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: lastId, method, params: { ...params, _meta: meta } }),
    signal,
  });
}

/** Makes one request. Never rejects: no answer is an answer too. */
export async function ask(address: Address, asked: Asked): Promise<Answered> {
  try {
    const response = await post(address, asked, AbortSignal.timeout(asked.timeoutMs));
    const body = await response.text();
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    const text = isStream ? lastEvent(body) : body;
    const { result, error } = reply.parse(JSON.parse(text));
    // 503: Redis did not answer, and the step may have been done. 429: it was not, and the client may try again.
    const isUnknown = response.status === 503 || response.status === 429;
    const verdict = isUnknown || (!result && !error) ? "unknown" : result ? "ok" : "refused";
    return {
      verdict,
      ...(result && { result }),
      text: text.slice(text.indexOf('"result":')),
      ...(error && { error: { code: error.code, message: error.message } }),
      httpStatus: response.status,
    };
  } catch (error) {
    return { verdict: "unknown", text: "", httpStatus: 0, error: { code: 0, message: String(error) } };
  }
}

function lastEvent(body: string): string {
  const events = body.split("\n\n").filter((event) => event.includes("data:"));
  return dataOf(events.at(-1) ?? "");
}

function dataOf(event: string): string {
  return event
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trimStart())
    .join("\n");
}

const message = z.looseObject({ method: z.string().optional(), params: z.unknown() });

/** Opens a `subscriptions/listen` stream; undefined when there is none to be had. */
export async function listen(
  address: Address,
  taskId: string,
  onFrame: (seen: SeenTask) => void,
): Promise<OpenStream | undefined> {
  const closing = new AbortController();
  const acknowledged = Promise.withResolvers<readonly string[] | undefined>();
  const timer = setTimeout(() => closing.abort(), 8000);
  const take = (event: string): void => {
    const data = dataOf(event);
    if (data === "") return;
    const { method, params } = message.parse(JSON.parse(data));
    if (method === "notifications/subscriptions/acknowledged")
      acknowledged.resolve(acknowledgement.parse(params).notifications.taskIds);
    if (method === "notifications/tasks") onFrame(seenTask(params, data));
  };
  const read = async (): Promise<void> => {
    try {
      const asked = {
        method: "subscriptions/listen",
        params: { notifications: { taskIds: [taskId] } },
        timeoutMs: 0,
      };
      const response = await post(address, asked, closing.signal);
      let rest = "";
      if (response.body)
        for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
          const events = (rest + chunk).split("\n\n");
          rest = events.pop() ?? "";
          for (const event of events) take(event);
        }
    } catch {
      // Cut by somebody: what came stays.
    }
    acknowledged.resolve(undefined);
  };
  const ended = read();
  const ids = await acknowledged.promise;
  clearTimeout(timer);
  if (ids === undefined) return undefined;
  return { acknowledged: ids, ended, close: () => closing.abort() };
}
