/** Why the store could not do a step. `store_unknown_outcome`: the reply was lost, so the step may or may not have happened. */
export type TaskStoreErrorCode =
  | "store_unavailable"
  | "store_full"
  | "store_readonly"
  | "store_unknown_outcome";

/** The store could not be reached or could not write. Nothing about the task follows from it. */
export class TaskStoreError extends Error {
  override readonly name = "TaskStoreError";
  readonly code: TaskStoreErrorCode;

  constructor(code: TaskStoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
