import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { CliError } from "../cli-error.ts";
import { type InputResponses, inputRequests } from "./answers.ts";
import { type McpClient, ServerError } from "./mcp-client.ts";

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

/** Follows a task to its end over a stream, which is opened again whenever it is lost. Gives the terminal state. */
export async function followTask(client: McpClient, taskId: string, follower: Follower): Promise<TaskView> {
  const answered = new Set<string>();
  for (;;) {
    const stream = new AbortController();
    try {
      for await (const task of states(client, taskId, stream.signal)) {
        follower.onChange(task);
        if (["completed", "failed", "cancelled"].includes(task.status)) return task;
        await answerOpen(client, task, { follower, answered });
      }
    } catch (error) {
      if (error instanceof CliError) throw error;
    } finally {
      stream.abort();
    }
    await delay(RECONNECT_MS);
  }
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

async function answerOpen(
  client: McpClient,
  task: TaskView,
  { follower, answered }: { readonly follower: Follower; readonly answered: Set<string> },
): Promise<void> {
  const open = Object.entries(task.inputRequests ?? {}).filter(([key]) => !answered.has(key));
  if (open.length === 0) return;
  const inputResponses = await follower.answer(Object.fromEntries(open));
  const { taskId } = task;
  await client.call({ method: "tasks/update", name: taskId, params: { taskId, inputResponses } });
  for (const [key] of open) answered.add(key);
}
