import { MOVES, mintNonce } from "@perdure/tasks";
import type { DueTasks, TaskRef } from "@perdure/tasks";
import { z } from "zod";
import { parseDueMember } from "./keys.ts";
import type { ShardKeys } from "./keys.ts";
import type { RedisStore } from "./redis-store.ts";
import { parseReply, verdict, whole } from "./replies.ts";

const takeReply = z.tuple([z.literal("taken"), z.array(z.string()), whole]);

const rouseReply = z.union([
  z.tuple([z.literal("wake"), z.enum(["queued", "lease-ended", "timer"]), whole, whole, whole]),
  verdict("overdue"),
  verdict("failed"),
  verdict("later"),
  verdict("gone"),
]);

const expireReply = z.union([verdict("failed"), verdict("removed"), verdict("later"), verdict("gone")]);

/** How long a taken task is kept from other reconcilers, in milliseconds. */
const HOLD_MS = 2000;

/** A full look is taken this often at least, whatever a glance said: the clock of Redis may have been moved. */
const LOOK_EVERY_MS = 20_000;
/** How much sooner than a glance says: clocks drift, and a look too early costs nothing but itself. */
const EARLY_MS = 100;

/** The last full look at a shard, by two clocks. */
interface Look {
  readonly redisMs: number;
  readonly monotonicMs: number;
  readonly hasFound: boolean;
}

/** What readers see of a task whose time was over. */
const EXPIRED = { code: -32603, message: "Task has expired" };

/** The reconciler's side of the record on Redis. */
export function createRedisDueTasks({ link, scripts, keys, policy }: RedisStore): DueTasks {
  const { rewakeMs, maxCrashes, retentionMs, tombstoneMs } = policy;
  let firstShard = 0;
  const looks = new Map<string, Look>();

  /** One plain command while nothing is due: idle workers would otherwise ask Redis more than their tasks do. */
  const mayHave = async ({ due }: ShardKeys): Promise<boolean> => {
    const last = looks.get(due);
    const passedMs = last === undefined ? Infinity : performance.now() - last.monotonicMs;
    if (last === undefined || last.hasFound || passedMs >= LOOK_EVERY_MS) return true;
    const [, dueMs] = await link.call((redis) => redis.zrange(due, "0", "0", "WITHSCORES"));
    return dueMs !== undefined && Number(dueMs) <= last.redisMs + passedMs + EARLY_MS;
  };

  const takeFrom = async (shard: ShardKeys, limit: number): Promise<TaskRef[]> => {
    if (!(await mayHave(shard))) return [];
    const { due } = shard;
    const reply = await scripts.run("take-due", { keys: [due], args: { limit, holdMs: HOLD_MS } });
    const [, members, redisMs] = parseReply("take-due", takeReply, reply);
    looks.set(due, { redisMs, monotonicMs: performance.now(), hasFound: members.length > 0 });
    return members.map(parseDueMember).filter((ref) => ref !== undefined);
  };

  return {
    async take(limit) {
      // Another shard is first each time: a full one never starves the rest.
      firstShard = (firstShard + 1) % keys.shards.length;
      const shards = [...keys.shards.slice(firstShard), ...keys.shards.slice(0, firstShard)];
      const refs: TaskRef[] = [];
      const failures: unknown[] = [];
      for (const shard of shards) {
        if (refs.length >= limit) break;
        try {
          refs.push(...(await takeFrom(shard, limit - refs.length)));
        } catch (error) {
          // One node of a Cluster may be gone: the others' tasks do not wait for it.
          failures.push(error);
        }
      }
      if (failures.length === shards.length) throw failures[0];
      return refs;
    },

    async rouse(ref) {
      const reply = await scripts.run("rouse", {
        keys: keys.ofTask(ref),
        args: {
          op: mintNonce(),
          from: MOVES.resume.from.join(","),
          to: MOVES.resume.to,
          failed: MOVES.fail.to,
          rewakeMs,
          maxCrashes,
          retentionMs,
        },
      });
      const parsed = parseReply("rouse", rouseReply, reply);
      if (!Array.isArray(parsed)) return parsed;
      const [verdict, cause, wake, epoch, depth] = parsed;
      return { verdict, cause, wakeUp: { ref, wake, epoch, depth } };
    },

    async expire(ref) {
      const reply = await scripts.run("expire", {
        keys: keys.ofTask(ref),
        args: {
          op: mintNonce(),
          from: MOVES.expire.from.join(","),
          to: MOVES.expire.to,
          error: JSON.stringify(EXPIRED),
          message: EXPIRED.message,
          retentionMs,
          tombstoneMs,
        },
      });
      return parseReply("expire", expireReply, reply);
    },
  };
}
