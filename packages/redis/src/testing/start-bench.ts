import { mintNonce, mintTaskId, tenantRefOf } from "@perdure/tasks";
import type { DueTasks, NewTask, TaskAddress, TaskLeases, TaskRef, TaskStore } from "@perdure/tasks";
import { startRedis } from "@perdure/testkit";
import type { RunningRedis, StartRedisOptions } from "@perdure/testkit";
import { createCommandLink } from "../command-link.ts";
import { createCommandConnection } from "../connections.ts";
import type { RedisClient } from "../connections.ts";
import { createKeys } from "../keys.ts";
import { createRedisDueTasks } from "../redis-due-tasks.ts";
import type { RedisStore, StorePolicy } from "../redis-store.ts";
import { createRedisTaskLeases } from "../redis-task-leases.ts";
import { createRedisTaskStore } from "../redis-task-store.ts";
import { loadScripts } from "../scripts.ts";

/** A Redis of a test's own, the adapters of the record on it, and what lies in it. */
export interface Bench extends AsyncDisposable {
  readonly server: RunningRedis;
  readonly redis: RedisClient;
  readonly base: RedisStore;
  /** The adapters with other times. */
  with(policy: Partial<StorePolicy>): Sides;
  /** The adapters on other parts. */
  on(store: RedisStore): Sides;
  /** Every byte of the task: its record, and whether it is due at all. */
  bytesOf(ref: TaskRef): Promise<Bytes>;
  /** Makes all that is known of the task so much older, as if the time had passed. */
  age(ref: TaskRef, ms: number): Promise<void>;
  /** When the task is due, in milliseconds from now. */
  dueInMs(ref: TaskRef): Promise<number>;
}

/** Client's, worker's and reconciler's side. */
export interface Sides {
  readonly store: TaskStore;
  readonly leases: TaskLeases;
  readonly due: DueTasks;
}

/** What lies in Redis of one task. */
export interface Bytes {
  readonly record: Readonly<Record<string, string>>;
  readonly dueEntries: number;
}

/** Long times: nothing ends by itself. */
export const CALM: StorePolicy = {
  leaseMs: 60_000,
  rewakeMs: 60_000,
  retentionMs: 60_000,
  tombstoneMs: 60_000,
  maxCrashes: 20,
  tenantMaxOpen: 0,
  tenantMaxRunning: 0,
};

/** The fields that hold a time. */
const TIMES = /^(createdAt|updatedAt|leaseEnd|queuedAt|wakeAt|removeAt|sl:.*)$/;

/** Starts a Redis and connects to it. */
export async function startBench(options: StartRedisOptions = {}): Promise<Bench> {
  const server = await startRedis(options);
  const redis = createCommandConnection({
    redisUrl: server.url,
    commandTimeoutMs: 1500,
    onError: () => {},
  });
  await redis.connect();
  const link = createCommandLink(redis, 1500);
  const base: RedisStore = { link, scripts: loadScripts(link), keys: createKeys(1), policy: CALM };

  return {
    server,
    redis,
    base,
    on: sidesOf,
    with: (policy) => sidesOf({ ...base, policy: { ...CALM, ...policy } }),
    async bytesOf(ref) {
      const members = await redis.zrange(base.keys.shardOf(ref.tenantRef).due, "0", "-1");
      return {
        record: await redis.hgetall(base.keys.record(ref)),
        dueEntries: members.filter((member) => member.endsWith(`:${ref.taskId}`)).length,
      };
    },
    async age(ref, ms) {
      const key = base.keys.record(ref);
      const fields = (await redis.hkeys(key)).filter((field) => TIMES.test(field));
      await Promise.all(fields.map((field) => redis.hincrby(key, field, -ms)));
      await redis.zincrby(base.keys.shardOf(ref.tenantRef).due, -ms, `${ref.tenantRef}:${ref.taskId}`);
    },
    async dueInMs(ref) {
      const score = await redis.zscore(
        base.keys.shardOf(ref.tenantRef).due,
        `${ref.tenantRef}:${ref.taskId}`,
      );
      const [seconds = 0, microseconds = 0] = (await redis.time()).map(Number);
      return Number(score) - seconds * 1000 - microseconds / 1000;
    },
    async [Symbol.asyncDispose]() {
      redis.disconnect();
      await server.stop();
    },
  };
}

function sidesOf(store: RedisStore): Sides {
  return {
    store: createRedisTaskStore(store),
    leases: createRedisTaskLeases(store),
    due: createRedisDueTasks(store),
  };
}

/** A task that is not stored yet, of a tenant of its own. */
export function newTask(changes: Partial<NewTask> = {}): NewTask {
  return {
    taskId: mintTaskId(),
    owner: { tenant: `tenant-${mintNonce()}`, principal: "alice" },
    scopes: ["tasks"],
    method: "tools/call",
    params: '{"name":"generate_report","arguments":{}}',
    tool: "generate_report",
    capabilities: "{}",
    ttlMs: 600_000,
    pollIntervalMs: 1000,
    ...changes,
  };
}

/** The names of a task, as its client and as its worker say them. */
export function namesOf({ owner, taskId }: NewTask): {
  readonly address: TaskAddress;
  readonly ref: TaskRef;
} {
  return { address: { owner, taskId }, ref: { tenantRef: tenantRefOf(owner.tenant), taskId } };
}
