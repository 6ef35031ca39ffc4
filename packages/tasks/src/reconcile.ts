import type { DueTasks, WakeUps } from "./ports.ts";
import type { TaskRef } from "./record.ts";

/** What one look at a due task did. */
export type ReconcileAction = "requeued" | "reaped" | "fired" | "failed" | "removed" | "nothing" | "error";

/** The ports of the reconciler, and how many tasks one pass may take. */
export interface ReconcileDeps {
  readonly due: DueTasks;
  readonly wakeUps: WakeUps;
  readonly limit: number;
  /** Told of each task that was looked at. `error` is there when the look failed; the task stays due. */
  readonly onAction: (ref: TaskRef, action: ReconcileAction, error?: unknown) => void;
}

/**
 * One pass over what is due: re-adds lost wake-ups, reaps dead leases, fires timers, expires and removes.
 * One bad record never stops the rest. Gives the number of tasks it took: as many as `limit` means there may be more.
 */
export async function reconcile({ due, wakeUps, limit, onAction }: ReconcileDeps): Promise<number> {
  const refs = await due.take(limit);
  await Promise.all(
    refs.map(async (ref) => {
      try {
        onAction(ref, await lookAt(ref, due, wakeUps));
      } catch (error) {
        onAction(ref, "error", error);
      }
    }),
  );
  return refs.length;
}

const ACTION_OF_CAUSE = { queued: "requeued", "lease-ended": "reaped", timer: "fired" } as const;

async function lookAt(ref: TaskRef, due: DueTasks, wakeUps: WakeUps): Promise<ReconcileAction> {
  const roused = await due.rouse(ref);
  if (roused.verdict === "wake") {
    if (roused.cause === "queued") await wakeUps.send(roused.wakeUp, { isAgain: true });
    else await wakeUps.send(roused.wakeUp);
    return ACTION_OF_CAUSE[roused.cause];
  }
  if (roused.verdict === "failed") return "failed";
  if (roused.verdict !== "overdue") return "nothing";
  const expired = await due.expire(ref);
  return expired.verdict === "failed" || expired.verdict === "removed" ? expired.verdict : "nothing";
}
