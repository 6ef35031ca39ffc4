import type { FencedReason } from "@perdure/tasks";

/**
 * Why a run must stop before its end.
 *
 * - `cancelled`, `expired`: the task has ended without the run
 * - `lease lost`: another worker may hold the task, or nobody could be asked for too long
 * - `shutdown`: this worker was told to stop; the task goes on elsewhere
 */
export type StopReason = "cancelled" | "expired" | "lease lost" | "shutdown";

/** What `task.signal.reason` is: an author tells by `reason` why the work must stop. */
export class TaskStopped extends Error {
  override readonly name = "TaskStopped";
  readonly code = "perdure_task_stopped";
  readonly reason: StopReason;

  constructor(reason: StopReason) {
    super(`The run must stop: ${reason}`);
    this.reason = reason;
  }
}

/** What a refused write means for the run. */
export function stopReasonOf(reason: FencedReason): StopReason {
  return reason === "cancelled" || reason === "expired" ? reason : "lease lost";
}
