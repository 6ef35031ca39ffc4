import type {
  DueTasks,
  HintSource,
  RateLimits,
  StoreHealth,
  TaskLeases,
  TaskStore,
  WakeUpConsumer,
  WakeUps,
} from "@perdure/tasks";
import type { RedisClient } from "./connections.ts";
import { createBullmqWakeUpConsumer } from "./bullmq-wake-up-consumer.ts";
import { createBullmqWakeUps } from "./bullmq-wake-ups.ts";
import { createCommandLink } from "./command-link.ts";
import { createCommandConnection, createConsumerConnection, createHintConnection } from "./connections.ts";
import { createKeys } from "./keys.ts";
import { pinLayout } from "./layout.ts";
import { createRedisDueTasks } from "./redis-due-tasks.ts";
import { createQueueLook } from "./redis-queue-state.ts";
import type { QueueState } from "./redis-queue-state.ts";
import { assertKeepsTasks, createRedisHealth } from "./redis-health.ts";
import type { Durability } from "./redis-health.ts";
import { createRedisHintSource } from "./redis-hint-source.ts";
import type { RedisStore } from "./redis-store.ts";
import { createRedisRateLimits } from "./redis-rate-limits.ts";
import { createRedisTaskLeases } from "./redis-task-leases.ts";
import { createRedisTaskStore } from "./redis-task-store.ts";
import { confirmedLeases, confirmedStore, createReplication } from "./replication.ts";
import { loadScripts } from "./scripts.ts";
import type { Scripts } from "./scripts.ts";
import { timed } from "./timed.ts";
import type { OnCommand } from "./timed.ts";
import { within } from "./within.ts";

/** Where the tasks live and how long things last. Times are in milliseconds. */
export interface RedisTasksOptions {
  /** `redis://`, `redis+sentinel://` or `redis+cluster://`, with `rediss` for TLS: see the README. */
  readonly redisUrl: string;
  /** How long a claim holds without a heartbeat. */
  readonly leaseMs: number;
  /** What an acknowledged write must survive. The server is looked at in `start`. */
  readonly durability: Durability;
  /** From 1 (the default) to 100; fixed at the first start of a store. */
  readonly shards?: number;
  /** Until a wake-up that nobody has followed is sent again. Default 5000. */
  readonly rewakeMs?: number;
  /** How long an ended task is kept at least. Default 60,000. */
  readonly retentionMs?: number;
  /** How long its owner can still learn that a task has expired. Default an hour. */
  readonly tombstoneMs?: number;
  /** Replicas of Redis that must have a creation, an answer or an end before it is acknowledged. Default 0. */
  readonly waitReplicas?: number;
  /** Workers that a task may end before it is given up. Default 20. */
  readonly maxCrashes?: number;
  /** Tasks of one tenant that have not ended; more are refused. 0, the default, for any number. */
  readonly tenantMaxOpen?: number;
  /** Tasks of one tenant that workers hold at once; more wait. 0, the default, for any number. */
  readonly tenantMaxRunning?: number;
  /** Requests a second of one tenant, and of one principal. 0, the default, for any number. */
  readonly tenantRate?: number;
  readonly principalRate?: number;
  /** How long any step may take before it throws. Default 1200: clients wait 2 s at most, also where another step was first. */
  readonly commandTimeoutMs?: number;
  /** `on`: each script tells a capped stream what it did to the record, for fault tests. Default `off`: it costs nothing. */
  readonly audit?: "on" | "off";
  /** Told of troubles with connections and of BullMQ's errors. Nothing is lost by them. */
  readonly onError?: (error: Error) => void;
  /** Told of each command and how long it took. */
  readonly onCommand?: OnCommand;
}

/** What a worker process may choose of its consumer. */
export interface WakeUpConsumerChoice {
  /** Wake-ups in hand at a time. */
  readonly concurrency: number;
  /** Another way to the same Redis. Default: the store's. */
  readonly redisUrl?: string;
}

/** The ports of the tasks on one Redis. */
export interface RedisTasks {
  readonly store: TaskStore;
  readonly leases: TaskLeases;
  readonly due: DueTasks;
  readonly wakeUps: WakeUps;
  readonly rates: RateLimits;
  /** Has a connection of its own, with its own `start`. `stop` of the whole stops it too. */
  readonly hints: HintSource;
  readonly health: StoreHealth;
  /** How much work there is, for an operator. Throws a `TaskStoreError` when Redis cannot be reached. */
  readonly lookAtQueue: () => Promise<QueueState>;
  /** Gives a consumer with connections of its own; whoever asks for it stops it. */
  readonly createWakeUpConsumer: (options: WakeUpConsumerChoice) => WakeUpConsumer;
  /**
   * Connects, and waits up to 10 s for that. Throws a `RedisSetupError` when the server would lose tasks or was first
   * started with another layout, a `TaskStoreError` when it cannot be reached.
   */
  start(): Promise<void>;
  /** Idempotent, within about a second. */
  stop(): Promise<void>;
}

const CONNECT_MS = 10_000;
const QUIT_MS = 1000;
/** `StoreHealth` answers within 2 s. */
const HEALTH_MS = 1800;

/** Builds the adapters. Nothing connects before `start`; before it every step throws `store_unavailable`. */
export function createRedisTasks(options: RedisTasksOptions): RedisTasks {
  const { redisUrl, leaseMs, durability, commandTimeoutMs = 1200, onError = () => {}, onCommand } = options;
  const keys = createKeys(options.shards ?? 1);
  const connectionOptions = { redisUrl, commandTimeoutMs, onError };

  const redis = createCommandConnection(connectionOptions);
  const link = createCommandLink(redis, commandTimeoutMs);
  const opening = createCommandLink(redis, CONNECT_MS);
  const loaded = loadScripts(link, { isAudited: options.audit === "on" });
  const scripts: Scripts = {
    run: (name, run) => timed(onCommand, name, () => loaded.run(name, run)),
  };
  const policy = {
    leaseMs,
    rewakeMs: options.rewakeMs ?? 5000,
    retentionMs: options.retentionMs ?? 60_000,
    tombstoneMs: options.tombstoneMs ?? 3_600_000,
    maxCrashes: options.maxCrashes ?? 20,
    tenantMaxOpen: options.tenantMaxOpen ?? 0,
    tenantMaxRunning: options.tenantMaxRunning ?? 0,
  };
  const store: RedisStore = { link, scripts, keys, policy };
  const wakeUps = createBullmqWakeUps({ redis, link, keys, onError });

  const waiter = createCommandConnection(connectionOptions);
  const waitReplicas = options.waitReplicas ?? 0;
  const replication = createReplication({
    link: createCommandLink(waiter, commandTimeoutMs),
    keys,
    replicas: waitReplicas,
  });

  const subscriber = createHintConnection(connectionOptions);
  const hints = createRedisHintSource({
    redis: subscriber,
    link: createCommandLink(subscriber, commandTimeoutMs),
    keys,
    onError,
  });

  const stop = async (): Promise<void> => {
    await Promise.all([hints.stop(), wakeUps.stop()]);
    waiter.disconnect();
    await quit(redis);
  };

  const taskStore = confirmedStore(createRedisTaskStore(store), replication);

  return {
    store: { ...taskStore, read: (address) => timed(onCommand, "read", () => taskStore.read(address)) },
    leases: confirmedLeases(createRedisTaskLeases(store), replication),
    due: createRedisDueTasks(store),
    wakeUps: { send: (wakeUp, how) => timed(onCommand, "send-wake-up", () => wakeUps.send(wakeUp, how)) },
    lookAtQueue: createQueueLook(store),
    rates: createRedisRateLimits(store, {
      tenantRate: options.tenantRate ?? 0,
      principalRate: options.principalRate ?? 0,
    }),
    hints,
    health: createRedisHealth({
      link: createCommandLink(redis, Math.min(commandTimeoutMs, HEALTH_MS)),
      keys,
      durability,
    }),

    createWakeUpConsumer: (consumer) =>
      createBullmqWakeUpConsumer({
        connect: () =>
          createConsumerConnection({ ...connectionOptions, redisUrl: consumer.redisUrl ?? redisUrl }),
        keys,
        concurrency: consumer.concurrency,
        leaseMs,
        onError,
      }),

    async start() {
      if (redis.status !== "wait" && redis.status !== "end") return;
      // The first attempt may fail; the connection goes on trying, and the link waits for it.
      redis.connect().catch(() => {});
      if (waitReplicas > 0) waiter.connect().catch(() => {});
      try {
        await opening.call((connected) => connected.ping());
        await assertKeepsTasks({ link, durability });
        await pinLayout(scripts, keys);
        await wakeUps.start();
      } catch (error) {
        await stop();
        throw error;
      }
    },
    stop,
  };
}

/** Lets what was sent be answered, then goes. */
async function quit(redis: RedisClient): Promise<void> {
  if (redis.status === "ready") await within(QUIT_MS, redis.quit()).catch(() => false);
  redis.disconnect();
}
