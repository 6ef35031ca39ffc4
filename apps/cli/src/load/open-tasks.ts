import { setTimeout as delay } from "node:timers/promises";
import type { Kind } from "./mix.ts";
import type { Timeline } from "./timeline.ts";
import { type LoadRequest, type LoadWire, type Reply, type SeenTask, seenTask } from "./wire.ts";

/** A task that was acknowledged and has not been seen to end. */
export interface OpenTask {
  readonly taskId: string;
  readonly kind: Kind;
  readonly n: number;
  /** Monotonic, in milliseconds. */
  readonly createdAtMs: number;
  readonly answered: Set<string>;
  /** Resolved when the client has seen the end, or the task is lost. */
  readonly ended: Promise<void>;
  readonly end: () => void;
}

/** Tasks that are followed, and what became of them. */
export interface OpenTasks {
  readonly count: number;
  /** Ids of tasks that were acknowledged and then unknown. */
  readonly lost: readonly string[];
  add(task: Pick<OpenTask, "taskId" | "kind" | "n">): OpenTask;
  has(taskId: string): boolean;
  /** A state of a task that was seen; answers what it asks. True when it has ended. */
  see(state: SeenTask): boolean;
  /** Reads a task. Gives when to read it again, in milliseconds; nothing when it has ended or is lost. */
  poll(task: OpenTask): Promise<number | undefined>;
  /** Those that are still open. */
  remaining(): readonly OpenTask[];
}

/** Sends a request and counts it. */
export function createSend(wire: LoadWire, timeline: Timeline): (request: LoadRequest) => Promise<Reply> {
  return async (request) => {
    timeline.request();
    const reply = await wire.send(request);
    if (!reply.ok) timeline.failed(reply.reason);
    return reply;
  };
}

const ENDS: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);
const AFTER_FAILURE_MS = 500;
const ANSWER_AGAIN_MS = 300;

/** {@link OpenTasks}, which are read and answered with `send`. */
export function createOpenTasks(
  send: (request: LoadRequest) => Promise<Reply>,
  timeline: Timeline,
): OpenTasks {
  const open = new Map<string, OpenTask>();
  const lost: string[] = [];

  const close = (task: OpenTask): void => {
    open.delete(task.taskId);
    task.end();
  };

  const answer = async (task: OpenTask, keys: readonly string[]): Promise<void> => {
    const { taskId } = task;
    for (const key of keys) task.answered.add(key);
    const accepted = { action: "accept", content: { yes: true } };
    const inputResponses = Object.fromEntries(keys.map((key) => [key, accepted]));
    const request = { method: "tasks/update", name: taskId, params: { taskId, inputResponses } };
    while (open.has(taskId)) {
      const reply = await send(request);
      if (reply.ok || reply.reason.startsWith("-32602")) return;
      await delay(ANSWER_AGAIN_MS);
    }
  };

  const see = (state: SeenTask): boolean => {
    const task = open.get(state.taskId);
    if (task === undefined) return true;
    if (ENDS.has(state.status)) {
      if (state.status === "completed") timeline.completed(task.kind, performance.now() - task.createdAtMs);
      else timeline.failedTask();
      if (state.status === "completed" && state.result?.content[0]?.text !== String(task.n))
        timeline.mixedUp();
      close(task);
      return true;
    }
    const asked = Object.keys(state.inputRequests).filter((key) => !task.answered.has(key));
    if (asked.length > 0) void answer(task, asked);
    return false;
  };

  return {
    get count() {
      return open.size;
    },
    lost,
    add(given) {
      const { promise: ended, resolve: end } = Promise.withResolvers<void>();
      const task = { ...given, createdAtMs: performance.now(), answered: new Set<string>(), ended, end };
      open.set(task.taskId, task);
      return task;
    },
    has: (taskId) => open.has(taskId),
    see,
    async poll(task) {
      const { taskId } = task;
      const reply = await send({ method: "tasks/get", name: taskId, params: { taskId } });
      if (!open.has(taskId)) return undefined;
      if (!reply.ok) {
        if (!reply.reason.startsWith("-32602")) return AFTER_FAILURE_MS;
        lost.push(taskId);
        close(task);
        return undefined;
      }
      timeline.polled(reply.ms);
      const state = seenTask.parse(reply.result);
      return see(state) ? undefined : state.pollIntervalMs;
    },
    remaining: () => [...open.values()],
  };
}
