export { TASK_STATUSES, isTerminal } from "./status.ts";
export type { TaskStatus } from "./status.ts";
export { MOVES, isLegal } from "./moves.ts";
export type { Move, MoveName } from "./moves.ts";
export { isTaskId, mintNonce, mintTaskId, tenantRefOf } from "./task-id.ts";
export { TaskStoreError } from "./task-store-error.ts";
export type { TaskStoreErrorCode } from "./task-store-error.ts";
export type {
  Claim,
  ClaimedTask,
  Hint,
  JournalEntries,
  JsonText,
  NewTask,
  Owner,
  TaskAddress,
  TaskRef,
  TaskSnapshot,
  WakeUp,
} from "./record.ts";
export type {
  Absent,
  Answer,
  AnswerReply,
  CancelReply,
  ClaimReply,
  Created,
  CreateReply,
  DueTasks,
  ExpireReply,
  Fenced,
  FencedReason,
  HintSource,
  Parking,
  ParkReply,
  RateLimits,
  RateVerdict,
  ReadReply,
  Release,
  ReleaseReply,
  RouseReply,
  Settlement,
  StoreHealth,
  TaskLeases,
  TaskStore,
  WakeUpConsumer,
  SendOptions,
  WakeUps,
  WriteReply,
} from "./ports.ts";
export { createTaskService } from "./task-service.ts";
export type { TaskService, TaskServiceDeps } from "./task-service.ts";
export { reconcile } from "./reconcile.ts";
export type { ReconcileAction, ReconcileDeps } from "./reconcile.ts";
