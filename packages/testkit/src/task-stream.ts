import { z } from "zod";
import { until } from "./until.ts";
import { wireMessage, wireTask } from "./wire-message.ts";
import type { WireMessage, WireTask } from "./wire-message.ts";

const acknowledgement = z.object({
  notifications: z.object({ taskIds: z.array(z.string()).default([]) }),
});

/** An open `subscriptions/listen` stream. */
export interface TaskStream extends AsyncDisposable {
  /** The ids that the server acknowledged. */
  readonly acknowledged: readonly string[];
  /** Every message, as text and parsed, in the order they came. Grows. */
  readonly texts: readonly string[];
  readonly messages: readonly WireMessage[];
  /** The tasks that were pushed, in the order they came. Grows. */
  readonly tasks: readonly WireTask[];
  /** Resolves when the stream has ended: "result" when a JSON-RPC result came before, else "lost". */
  readonly ended: Promise<"result" | "lost">;
  /** Waits for a frame of the task with that status. */
  until(taskId: string, status: WireTask["status"], timeoutMs?: number): Promise<WireTask>;
  close(): Promise<void>;
}

/** Opens a stream with `send` and resolves once it is acknowledged. Rejects with the server's words when it is refused. */
export async function openTaskStream(send: (signal: AbortSignal) => Promise<Response>): Promise<TaskStream> {
  const closing = new AbortController();
  const response = await send(closing.signal);
  if (!response.body || !response.headers.get("content-type")?.startsWith("text/event-stream"))
    throw new Error(`No stream: HTTP ${response.status} ${await response.text()}`);
  const texts: string[] = [];
  const messages: WireMessage[] = [];
  const tasks: WireTask[] = [];
  let isOver = false;

  const take = (event: string): void => {
    const data = eventData(event);
    if (data === "") return;
    const message = wireMessage.parse(JSON.parse(data));
    texts.push(data);
    messages.push(message);
    if (message.method === "notifications/tasks") tasks.push(wireTask.parse(message.params));
  };
  const body = response.body;
  const read = async (): Promise<"result" | "lost"> => {
    try {
      let rest = "";
      for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
        const events = (rest + chunk).split("\n\n");
        rest = events.pop() ?? "";
        for (const event of events) take(event);
      }
    } catch {
      // The connection was cut, by us or by the server: what came stays.
    }
    isOver = true;
    return messages.at(-1)?.result === undefined ? "lost" : "result";
  };
  const ended = read();

  const close = async (): Promise<void> => {
    closing.abort();
    await ended;
  };
  const first = await until(
    () => messages.find(({ method }) => method === "notifications/subscriptions/acknowledged") ?? isOver,
    { what: "the acknowledgement of a listen stream" },
  );
  if (first === true) throw new Error(`The stream ended: ${texts.join("\n")}`);
  return {
    acknowledged: acknowledgement.parse(first.params).notifications.taskIds,
    texts,
    messages,
    tasks,
    ended,
    until: (taskId, status, timeoutMs = 15_000) =>
      until(() => tasks.find((task) => task.taskId === taskId && task.status === status), {
        what: `a frame of task ${taskId} that is ${status}; came: ${tasks.map((task) => task.status).join(", ")}`,
        timeoutMs,
      }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** The data of one event of an SSE stream; empty for a comment. */
export function eventData(event: string): string {
  return event
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => line.slice(5).trimStart())
    .join("\n");
}
