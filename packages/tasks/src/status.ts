/** The protocol's five task statuses (SEP-2663 §Task Status). "Queued" and "running" are no statuses: they are "no lease" and "leased". */
export const TASK_STATUSES = ["working", "input_required", "completed", "failed", "cancelled"] as const;

/** One of {@link TASK_STATUSES}. */
export type TaskStatus = (typeof TASK_STATUSES)[number];

const TERMINAL: ReadonlySet<TaskStatus> = new Set(["completed", "failed", "cancelled"]);

/** True once nothing can leave the status: the task's bytes stay as they are until it is removed. */
export function isTerminal(status: TaskStatus): boolean {
  return TERMINAL.has(status);
}
