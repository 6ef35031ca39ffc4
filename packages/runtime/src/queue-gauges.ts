import { Gauge, type Registry } from "prom-client";

/** How much work there is, as the store tells it: counts of tasks, and milliseconds. */
export interface QueueLook {
  readonly queued: number;
  readonly queuedForMs: number;
  readonly running: number;
  readonly runningForMs: number;
  readonly parked: number;
}

const KEPT_MS = 2000;

/**
 * What one look at the store tells of all tasks, so every process says the same: take the `max` over processes. `kind` is
 * `queued` (may run, and no worker holds it), `running` (a worker holds it) or `parked` (waits for an answer or a time).
 */
export function createQueueGauges(registers: Registry[]) {
  let look: (() => Promise<QueueLook>) | undefined;
  let looking: Promise<void> | undefined;
  let lookedAtMs = -Infinity;

  const refresh = async (): Promise<void> => {
    if (look === undefined) return;
    try {
      const { queued, queuedForMs, running, runningForMs, parked } = await look();
      redisUp.set(1);
      queueDepth.set({ kind: "queued" }, queued);
      queueDepth.set({ kind: "running" }, running);
      queueDepth.set({ kind: "parked" }, parked);
      queueOldestAgeSeconds.set({ kind: "queued" }, queuedForMs / 1000);
      queueOldestAgeSeconds.set({ kind: "running" }, runningForMs / 1000);
    } catch {
      // Unknown is not what it was: the figures go until Redis is back.
      redisUp.set(0);
      queueDepth.reset();
      queueOldestAgeSeconds.reset();
    }
  };

  /** The three gauges of one scrape, and scrapes that come close together, share a look. */
  const collect = (): Promise<void> => {
    if (performance.now() - lookedAtMs >= KEPT_MS) {
      lookedAtMs = performance.now();
      looking = refresh();
    }
    return looking ?? Promise.resolve();
  };

  const redisUp = new Gauge({
    name: "perdure_redis_up",
    help: "1 when Redis answered this process at the scrape, 0 when it did not",
    registers,
    collect,
  });
  const queueDepth = new Gauge({
    name: "perdure_queue_depth",
    help: "Tasks of the whole store that have not ended, by what they wait for; the same from every process",
    labelNames: ["kind"] as const,
    registers,
    collect,
  });
  const queueOldestAgeSeconds = new Gauge({
    name: "perdure_queue_oldest_age_seconds",
    help: "How long the task has been queued or running that has been so the longest; the same from every process",
    labelNames: ["kind"] as const,
    registers,
    collect,
  });

  return {
    redisUp,
    queueDepth,
    queueOldestAgeSeconds,
    /** Gives the gauges their source: `look` must settle in time for a scrape, and is called at most once in 2 s. */
    watchQueue(source: () => Promise<QueueLook>): void {
      look = source;
      lookedAtMs = -Infinity;
    },
  };
}
