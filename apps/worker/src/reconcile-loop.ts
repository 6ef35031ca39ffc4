import type { Log, Metrics } from "@perdure/runtime";
import { reconcile, type DueTasks, type ReconcileAction, type TaskRef, type WakeUps } from "@perdure/tasks";

/** What the loop works with. */
export interface ReconcileLoopDeps {
  readonly due: DueTasks;
  readonly wakeUps: WakeUps;
  readonly log: Log;
  readonly metrics: Metrics;
  /** 0 up to 1; `Math.random` outside tests. */
  readonly random: () => number;
}

/** Looks at what is due, again and again. */
export interface ReconcileLoop {
  start(): void;
  /** Resolves when the pass in hand is over. Idempotent. */
  stop(): Promise<void>;
}

const LIMIT = 100;
/** Never slower than this: with it a killed worker's task runs elsewhere within its lease + 1 s. */
const IDLE_MS = 800;
const BUSY_MS = 300;
const MORE_MS = 20;
const AFTER_ERROR_MS = 1000;

/**
 * Passes with a jittered pause: at rest one command each 0.7 to 0.9 s, sooner while there is work, at once while there is
 * more than a pass may take. An error is logged once per outage, and never ends the loop.
 */
export function createReconcileLoop(deps: ReconcileLoopDeps): ReconcileLoop {
  const { due, wakeUps, log, metrics, random } = deps;
  let timer: NodeJS.Timeout | undefined;
  let pass: Promise<void> | undefined;
  let isOver = false;
  let isFailing = false;

  const onAction = (ref: TaskRef, action: ReconcileAction, error?: unknown): void => {
    metrics.reconcilerActions.inc({ action });
    if (action === "reaped") {
      metrics.leaseTakeovers.inc();
      log.warn(
        { taskId: ref.taskId },
        "A lease ended without a word from its worker; the task is queued again",
      );
    }
    if (action === "failed") {
      metrics.taskTransitions.inc({ to: "failed" });
      log.warn({ taskId: ref.taskId }, "The task failed: it was overdue, or too many workers died of it");
    }
    if (action === "error")
      log.error({ taskId: ref.taskId, err: error }, "A due task could not be looked at");
  };

  const runPass = async (): Promise<void> => {
    let pauseMs = AFTER_ERROR_MS;
    try {
      const taken = await reconcile({ due, wakeUps, limit: LIMIT, onAction });
      pauseMs = taken >= LIMIT ? MORE_MS : taken > 0 ? BUSY_MS : IDLE_MS;
      if (isFailing) log.info({}, "The reconciler works again");
      isFailing = false;
    } catch (error) {
      metrics.reconcilerActions.inc({ action: "error" });
      if (!isFailing) log.error({ err: error }, "The reconciler cannot see what is due");
      isFailing = true;
    }
    schedule(pauseMs);
  };

  const schedule = (pauseMs: number): void => {
    if (isOver) return;
    timer = setTimeout(() => void (pass = runPass()), pauseMs * (0.9 + random() / 5));
  };

  return {
    start: () => schedule(BUSY_MS),
    async stop() {
      isOver = true;
      clearTimeout(timer);
      await pass;
    },
  };
}
