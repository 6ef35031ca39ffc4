import { TaskStoreError } from "@perdure/tasks";
import type { WakeUp, WakeUpConsumer } from "@perdure/tasks";
import { WaitingError, Worker } from "bullmq";
import type { Job } from "bullmq";
import type { RedisClient } from "./connections.ts";
import { gatherWrites } from "./gather-writes.ts";
import type { Keys } from "./keys.ts";
import { WAKE_UP_QUEUE, parseJob } from "./wake-up-jobs.ts";
import { within } from "./within.ts";

/** How a worker process takes wake-ups. */
export interface WakeUpConsumerOptions {
  /** Opens the connection that BullMQ's workers share and duplicate. The consumer closes it. */
  readonly connect: () => RedisClient;
  readonly keys: Keys;
  /** Wake-ups in hand at a time, over all shards; but at least one in each. */
  readonly concurrency: number;
  /** The lease of a task. BullMQ's own lock is as long. */
  readonly leaseMs: number;
  readonly onError: (error: Error) => void;
}

/** How long the first connection may take. */
const START_MS = 10_000;
/** How long an idle worker waits for a job before it looks for one: a new job ends the wait at once. */
const IDLE_SECONDS = 20;
/** How long BullMQ may take to close once nothing is in hand. */
const CLOSE_MS = 1000;

type Handle = (wakeUp: WakeUp) => Promise<void>;

/** One of BullMQ's workers, and its connection that waits for jobs. */
interface Lane {
  readonly worker: Worker;
  blocking?: { readonly status: string; disconnect(): void };
}

/**
 * Takes wake-ups from BullMQ, with one of its workers in each shard.
 *
 * BullMQ decides nothing here: its lock, its stalled check and its failures only say who is woken when. A worker that dies
 * between a job and its claim leaves the job to the stalled check, which comes within a lease and a half. Its lock is as
 * short as a lease for that reason: a lock lost too early costs a second wake-up, which the claim turns away.
 */
export function createBullmqWakeUpConsumer(options: WakeUpConsumerOptions): WakeUpConsumer {
  const { connect, keys, concurrency, leaseMs, onError } = options;
  const inHand = new Set<Promise<void>>();
  let connection: RedisClient | undefined;
  let lanes: readonly Lane[] = [];
  let isPaused = false;
  let stopping: Promise<void> | undefined;

  const process = async (job: Job, token: string | undefined, handle: Handle): Promise<void> => {
    if (isPaused) {
      // It was on its way when the pause came: another worker gets it.
      await job.moveToWait(token);
      throw new WaitingError();
    }
    const wakeUp = parseJob(job.data);
    if (wakeUp === undefined) return;
    const work = handle(wakeUp).catch((error: unknown) => onError(toError(error)));
    inHand.add(work);
    await work;
    inHand.delete(work);
    // What BullMQ sends now, for this job and for others that end with it.
    if (connection) gatherWrites(connection);
  };

  const openLane = (redis: RedisClient, index: number, handle: Handle): Lane => {
    const shards = keys.shards.length;
    const share = Math.floor(concurrency / shards) + (index < concurrency % shards ? 1 : 0);
    const worker = new Worker(WAKE_UP_QUEUE, (job, token) => process(job, token, handle), {
      prefix: keys.shards[index]?.tag ?? "",
      connection: redis,
      concurrency: Math.max(1, share),
      lockDuration: leaseMs,
      stalledInterval: Math.ceil(leaseMs / 2),
      maxStalledCount: 1_000_000,
      drainDelay: IDLE_SECONDS,
      runRetryDelay: 1000,
    });
    worker.on("error", onError);
    return { worker };
  };

  const pause = async (): Promise<void> => {
    isPaused = true;
    await Promise.all(lanes.map(({ worker }) => worker.pause(true)));
    // A worker that waits would still be told of the next job, and nobody else would: it must not wait any more.
    for (const { blocking } of lanes) blocking?.disconnect();
  };

  const close = async (deadlineMs: number): Promise<void> => {
    await pause();
    const isIdle = await within(deadlineMs, Promise.all(inHand));
    await within(CLOSE_MS, Promise.all(lanes.map(({ worker }) => worker.close(!isIdle))));
    connection?.disconnect();
    lanes = [];
    connection = undefined;
  };

  const stop = (deadlineMs: number): Promise<void> => {
    stopping ??= close(deadlineMs).finally(() => {
      stopping = undefined;
    });
    return stopping;
  };

  return {
    async start(handle) {
      if (connection !== undefined) return;
      isPaused = false;
      const redis = connect();
      connection = redis;
      lanes = keys.shards.map((_, index) => openLane(redis, index, handle));
      if (await within(START_MS, Promise.all(lanes.map(open)))) return;
      await stop(0);
      throw new TaskStoreError("store_unavailable", `Redis could not be reached within ${START_MS} ms`);
    },
    pause,
    stop,
    isAlive: () =>
      !isPaused &&
      connection?.status === "ready" &&
      lanes.every(({ worker, blocking }) => worker.isRunning() && blocking?.status === "ready"),
  };
}

async function open(lane: Lane): Promise<void> {
  await lane.worker.waitUntilReady();
  const blocking = await lane.worker.getBackend().blockingClient;
  if (blocking !== undefined) lane.blocking = blocking;
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
