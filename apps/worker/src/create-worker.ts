import { NO_TRACING } from "@perdure/runtime";
import type { Log, Metrics, Service, Tracing } from "@perdure/runtime";
import type { DueTasks, TaskLeases, WakeUp, WakeUpConsumer, WakeUps } from "@perdure/tasks";
import type { Catalog } from "@perdure/toolkit/host";
import { advanceTask } from "./advance-task.ts";
import type { ServerInfo } from "./present-outcome.ts";
import { createReconcileLoop } from "./reconcile-loop.ts";

/** What a worker works with. */
export interface WorkerDeps {
  readonly leases: TaskLeases;
  readonly due: DueTasks;
  readonly wakeUps: WakeUps;
  /** This worker's own. */
  readonly consumer: WakeUpConsumer;
  readonly catalog: Catalog;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Off when absent. */
  readonly tracing?: Tracing;
  /** As the store was made with: how long a lease lasts. */
  readonly leaseMs: number;
  /** Size limit of a stored result. */
  readonly maxResultBytes: number;
  /** How long `stop` may take. */
  readonly drainMs: number;
  readonly serverInfo: ServerInfo;
  /** Monotonic milliseconds; `performance.now` when absent. */
  readonly clock?: () => number;
  /** 0 up to 1, for jitter; `Math.random` when absent. */
  readonly random?: () => number;
}

/** Runs tasks, and puts right what others left undone. */
export interface Worker extends Service {
  /** What keeps it from working, each a sentence for an operator; none when it takes tasks. */
  problems(): readonly string[];
}

const CHANCE_MS = 400;

/**
 * A worker: it claims, advances, and settles or parks what it is woken for, and runs the reconciler.
 *
 * `stop` takes no more and gives the leases back within a second, without counting an attempt. A run that is about to
 * end gets a moment to do so; then all signals are aborted, and a tool that does not heed its own is left behind: its
 * run is over, and whatever it writes is refused.
 *
 *     pause ─► 0.4 s for runs that end by themselves ─► abort all ─► release, wake-up ─► stop
 */
export function createWorker(deps: WorkerDeps): Worker {
  const { consumer, log, drainMs } = deps;
  const { clock = () => performance.now(), random = Math.random, tracing = NO_TRACING } = deps;
  const shutdown = new AbortController();
  const reconciler = createReconcileLoop({ ...deps, random });
  const advanceDeps = { ...deps, clock, tracing, shutdown: shutdown.signal };
  const inHand = new Set<Promise<void>>();
  let stopped: Promise<void> | undefined;
  let isStarted = false;

  const handle = async (wakeUp: WakeUp): Promise<void> => {
    const advancing = advanceTask(wakeUp, advanceDeps);
    inHand.add(advancing);
    await advancing;
    inHand.delete(advancing);
  };

  const stop = async (): Promise<void> => {
    consumer.pause().catch((error: unknown) => {
      log.warn({ err: error }, "The queue could not be paused");
    });
    await within(Math.min(CHANCE_MS, drainMs), Promise.all(inHand));
    shutdown.abort();
    await Promise.all([within(drainMs, reconciler.stop()), consumer.stop(drainMs)]);
  };

  return {
    async start() {
      await consumer.start(handle);
      if (stopped) return;
      reconciler.start();
      isStarted = true;
    },
    stop: () => (stopped ??= stop()),
    problems() {
      if (stopped) return ["The worker is stopping"];
      if (!isStarted) return ["The worker has not started yet"];
      return consumer.isAlive() ? [] : ["The worker receives no wake-ups"];
    },
  };
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([work, promise]).finally(() => clearTimeout(timer));
}
