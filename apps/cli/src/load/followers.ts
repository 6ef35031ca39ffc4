import { setTimeout as delay } from "node:timers/promises";
import type { OpenTask, OpenTasks } from "./open-tasks.ts";
import type { Timeline } from "./timeline.ts";
import type { LoadWire } from "./wire.ts";

/** Follows tasks to their end. */
export interface Follower {
  /** Tasks whose end is known and whose frame may still come. */
  readonly awaited: number;
  follow(task: OpenTask): void;
}

const FIRST_POLL_MS = 200;
const BATCH_MS = 50;
const BATCH_SIZE = 20;
const REOPEN_MS = 250;
/** A listener looks by itself this often, so that a frame which never comes is found out. */
const CHECK_MS = 10_000;
/** Streams read their tasks again within this time: a frame that is later never comes. */
const GRACE_MS = 16_000;
const LOOK_MS = 100;

/** Asks again and again, at the pace that the server says. */
export function createPoller(tasks: OpenTasks, stopped: AbortSignal): Follower {
  const poll = async (task: OpenTask): Promise<void> => {
    let waitMs: number | undefined = FIRST_POLL_MS;
    while (waitMs !== undefined) {
      await delay(waitMs, undefined, { signal: stopped });
      waitMs = await tasks.poll(task);
    }
  };
  return { awaited: 0, follow: (task) => void poll(task).catch(ignoreAbort) };
}

/** What a listener stands on. */
export interface ListenerDeps {
  readonly tasks: OpenTasks;
  readonly wire: LoadWire;
  readonly timeline: Timeline;
  readonly stopped: AbortSignal;
}

/** Some tasks on one stream. */
interface Batch {
  readonly followed: readonly OpenTask[];
  /** Ids of tasks whose end was pushed. */
  readonly told: Set<string>;
  /** Ids of tasks that nothing more is awaited of: told, lost, or their frame is missing. */
  readonly done: Set<string>;
  /** Ids of tasks that have ended, as a poll has shown, and whose frame may still come. */
  readonly late: Set<string>;
}

/** Listens on streams of up to twenty tasks each, opens a stream again when it is lost, and notices what is never pushed. */
export function createListener(deps: ListenerDeps): Follower {
  const { stopped } = deps;
  let next: OpenTask[] = [];
  const late = new Set<string>();

  const listen = async (followed: readonly OpenTask[]): Promise<void> => {
    const batch = { followed, told: new Set<string>(), done: new Set<string>(), late };
    for (const task of followed) void check(task, batch, deps).catch(ignoreAbort);
    for (let times = 0; ; times += 1) {
      const left = followed.filter(({ taskId }) => !batch.done.has(taskId));
      if (left.length === 0 || stopped.aborted) return;
      if (times > 0) {
        deps.timeline.reopenedStream();
        await delay(REOPEN_MS, undefined, { signal: stopped });
      }
      await listenOnce(
        left.map(({ taskId }) => taskId),
        batch,
        deps,
      );
    }
  };

  const openStream = (): void => {
    const followed = next;
    next = [];
    if (followed.length > 0) void listen(followed).catch(ignoreAbort);
  };

  return {
    get awaited() {
      return late.size;
    },
    follow(task) {
      next.push(task);
      if (next.length >= BATCH_SIZE) openStream();
      else if (next.length === 1) setTimeout(openStream, BATCH_MS);
    },
  };
}

async function listenOnce(
  ids: readonly string[],
  { told, done }: Batch,
  { tasks, wire, timeline, stopped }: ListenerDeps,
): Promise<void> {
  const closing = new AbortController();
  /** The first frame of a task shows how it is, however old that is; what comes after it tells of a change. */
  const shown = new Set<string>();
  timeline.request();
  const reason = await wire.listen(
    ids,
    (state) => {
      if (shown.has(state.taskId)) timeline.frame(Date.parse(state.lastUpdatedAt), Date.now());
      shown.add(state.taskId);
      if (tasks.see(state)) {
        told.add(state.taskId);
        done.add(state.taskId);
      }
      if (ids.every((id) => done.has(id))) closing.abort();
    },
    AbortSignal.any([closing.signal, stopped]),
  );
  if (reason !== "closed" && reason !== "ended") timeline.failed(`stream: ${reason}`);
}

/** Looks at a task that is listened for from time to time. Its end should be pushed; when a poll knows of it long before, it was not. */
async function check(
  task: OpenTask,
  { told, done, late }: Batch,
  { tasks, timeline, stopped }: ListenerDeps,
): Promise<void> {
  const { taskId } = task;
  while (tasks.has(taskId)) {
    await Promise.race([task.ended, delay(CHECK_MS, undefined, { signal: stopped })]);
    if (tasks.has(taskId)) await tasks.poll(task);
  }
  if (told.has(taskId)) return;
  if (!tasks.lost.includes(taskId)) {
    late.add(taskId);
    const deadline = performance.now() + GRACE_MS;
    while (!told.has(taskId) && performance.now() < deadline)
      await delay(LOOK_MS, undefined, { signal: stopped });
    if (!told.has(taskId)) timeline.missingFrame();
    late.delete(taskId);
  }
  done.add(taskId);
}

function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error) || error.name !== "AbortError") throw error;
}
