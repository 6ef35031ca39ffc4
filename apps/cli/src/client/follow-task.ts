import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { type InputResponses, inputRequests } from "./answers.ts";
import { type McpClient, ServerError, ServerUnavailable } from "./mcp-client.ts";

/** A task as `tasks/get` and `notifications/tasks` show it. */
export const taskView = z.looseObject({
  taskId: z.string(),
  status: z.enum(["working", "input_required", "completed", "failed", "cancelled"]),
  statusMessage: z.string().optional(),
  lastUpdatedAt: z.string(),
  pollIntervalMs: z.number().optional(),
  inputRequests: inputRequests.optional(),
  result: z.looseObject({}).optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
});

/** One of {@link taskView}. */
export type TaskView = z.infer<typeof taskView>;

/** What happens on the way. */
export interface Follower {
  /** Each state of the task that was seen, in order. */
  onChange(task: TaskView): void;
  /** Answers what the task asks; keys that were answered before are not asked again. */
  answer(requests: z.infer<typeof inputRequests>): Promise<InputResponses>;
}

const RECONNECT_MS = 500;
/** So long a server may be away in the middle: a replica that is replaced, a Redis that fails over. */
const PATIENCE_MS = 60_000;

/**
 * Follows a task to its end over a stream, which is opened again whenever it is lost. Gives the terminal state. Throws
 * {@link ServerUnavailable} when nobody serves at the beginning, or for a minute later on.
 */
export async function followTask(client: McpClient, taskId: string, follower: Follower): Promise<TaskView> {
  const answers: Answers = { given: new Map(), sent: new Set() };
  let isSeen = false;
  /** Since when the server is away, in monotonic milliseconds. */
  let awaySinceMs: number | undefined;
  for (;;) {
    const stream = new AbortController();
    try {
      for await (const task of states(client, taskId, stream.signal)) {
        isSeen = true;
        awaySinceMs = undefined;
        follower.onChange(task);
        if (["completed", "failed", "cancelled"].includes(task.status)) return task;
        await answerOpen(client, task, { follower, answers });
      }
    } catch (error) {
      if (!isPassing(error, isSeen)) throw error;
      awaySinceMs ??= performance.now();
      if (performance.now() - awaySinceMs > PATIENCE_MS) throw error;
    } finally {
      stream.abort();
    }
    await delay(RECONNECT_MS);
  }
}

/** A connection that breaks in the middle of a body is a `TypeError` of `fetch`. */
function isPassing(error: unknown, isSeen: boolean): boolean {
  return error instanceof TypeError || (isSeen && error instanceof ServerUnavailable);
}

async function* states(client: McpClient, taskId: string, signal: AbortSignal): AsyncGenerator<TaskView> {
  const params = { notifications: { taskIds: [taskId] } };
  for await (const received of client.messages({ method: "subscriptions/listen", params, signal })) {
    if (received.error)
      throw new ServerError(received.error.code, received.error.message, received.error.data);
    if (received.method === "notifications/subscriptions/acknowledged") {
      const acknowledged = z.looseObject({
        notifications: z.looseObject({ taskIds: z.array(z.string()).optional() }),
      });
      const { notifications } = acknowledged.parse(received.params);
      // An id that was not acknowledged is not ours to follow: a read says why in the server's own words.
      if (!notifications.taskIds?.includes(taskId)) {
        yield taskView.parse(await client.call({ method: "tasks/get", name: taskId, params: { taskId } }));
      }
    }
    if (received.method === "notifications/tasks") yield taskView.parse(received.params);
  }
}

/** By key. What was given is kept until it was sent, so that nobody is asked twice. */
interface Answers {
  readonly given: Map<string, unknown>;
  readonly sent: Set<string>;
}

async function answerOpen(
  client: McpClient,
  task: TaskView,
  { follower, answers }: { readonly follower: Follower; readonly answers: Answers },
): Promise<void> {
  const { given, sent } = answers;
  const open = Object.entries(task.inputRequests ?? {}).filter(([key]) => !sent.has(key));
  if (open.length === 0) return;
  const unasked = open.filter(([key]) => !given.has(key));
  if (unasked.length > 0) {
    const responses = await follower.answer(Object.fromEntries(unasked));
    for (const [key, response] of Object.entries(responses)) given.set(key, response);
  }
  const inputResponses = Object.fromEntries(open.map(([key]) => [key, given.get(key)]));
  const { taskId } = task;
  await client.call({ method: "tasks/update", name: taskId, params: { taskId, inputResponses } });
  for (const [key] of open) sent.add(key);
}
