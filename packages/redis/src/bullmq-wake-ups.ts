import type { WakeUps } from "@perdure/tasks";
import { TaskStoreError } from "@perdure/tasks";
import { Queue } from "bullmq";
import type { RedisClient } from "./connections.ts";
import type { CommandLink } from "./command-link.ts";
import type { Keys } from "./keys.ts";
import { WAKE_UP_QUEUE, toJob } from "./wake-up-jobs.ts";

/** The command connection, which the queues share, and who is told of troubles. */
export interface BullmqWakeUpsDeps {
  readonly redis: RedisClient;
  readonly link: CommandLink;
  readonly keys: Keys;
  readonly onError: (error: Error) => void;
}

/** {@link WakeUps} that start and stop. */
export interface BullmqWakeUps extends WakeUps {
  /** To be called once the connection is ready. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Nobody reads BullMQ's events: about this many are kept. */
const KEPT_EVENTS = 100;

/** BullMQ keeps a priority in 21 bits. 0 would jump ahead of all. */
const MAX_PRIORITY = 2 ** 21 - 1;

/** Sends wake-ups as BullMQ jobs. `send` throws as a {@link CommandLink} does. */
export function createBullmqWakeUps({ redis, link, keys, onError }: BullmqWakeUpsDeps): BullmqWakeUps {
  const queues = new Map<string, Queue>();

  return {
    async start() {
      for (const { tag } of keys.shards) {
        const queue = new Queue(WAKE_UP_QUEUE, {
          prefix: tag,
          connection: redis,
          // The store has looked at the server itself.
          skipVersionCheck: true,
          streams: { events: { maxLen: KEPT_EVENTS } },
        });
        queue.on("error", onError);
        queues.set(tag, queue);
      }
      await Promise.all([...queues.values()].map((queue) => link.call(() => queue.waitUntilReady())));
    },

    async stop() {
      const open = [...queues.values()];
      queues.clear();
      await Promise.all(open.map((queue) => queue.close()));
    },

    async send(wakeUp, { isAgain = false } = {}) {
      const queue = queues.get(keys.shardOf(wakeUp.ref.tenantRef).tag);
      if (queue === undefined)
        throw new TaskStoreError("store_unavailable", "Wake-ups have not been started");
      const { jobId, data } = toJob(wakeUp);
      // The longer a tenant's queue, the later its next task: a tenant with few is not held up by one with thousands.
      const priority = Math.min(Math.max(wakeUp.depth ?? 1, 1), MAX_PRIORITY);
      const options = { jobId, priority, removeOnComplete: true, removeOnFail: true, attempts: 1 };
      if (isAgain) await link.call(() => forgetStray(queue, jobId));
      await link.call(() => queue.add("wake", data, options));
    },
  };
}

/**
 * A job that is in no list is followed by nobody, and BullMQ adds none of its id again: it is what is left where somebody
 * deleted BullMQ's keys while jobs were added.
 */
async function forgetStray(queue: Queue, jobId: string): Promise<void> {
  if ((await queue.getJobState(jobId)) === "unknown") await queue.remove(jobId);
}
