import { z } from "zod";
import type { RedisStore } from "./redis-store.ts";
import { parseReply, whole } from "./replies.ts";

/** How much work there is, of all tenants together. Counts of tasks, and milliseconds. */
export interface QueueState {
  /** Tasks that may run and that no worker holds, and how long the first of them has been waiting; 0 when none is. */
  readonly queued: number;
  readonly queuedForMs: number;
  /** Tasks that workers hold, and how long the one has been held that was claimed first. */
  readonly running: number;
  readonly runningForMs: number;
  /** Tasks that wait for an answer or for a time, and need no worker. */
  readonly parked: number;
}

const reply = z.tuple([z.literal("looked"), z.int(), whole, whole, whole, whole]);

/** Looks at every shard: one round trip each, whose cost does not grow with the number of tasks. */
export function createQueueLook({
  scripts,
  keys,
}: Pick<RedisStore, "scripts" | "keys">): () => Promise<QueueState> {
  return async () => {
    const looks = await Promise.all(
      keys.shards.map(async ({ work }) =>
        parseReply("look-at-queue", reply, await scripts.run("look-at-queue", { keys: work, args: {} })),
      ),
    );
    const state = { queued: 0, queuedForMs: 0, running: 0, runningForMs: 0, parked: 0 };
    for (const [, open, queued, queuedForMs, running, runningForMs] of looks) {
      state.queued += queued;
      state.queuedForMs = Math.max(state.queuedForMs, queuedForMs);
      state.running += running;
      state.runningForMs = Math.max(state.runningForMs, runningForMs);
      state.parked += Math.max(0, open - queued - running);
    }
    return state;
  };
}
