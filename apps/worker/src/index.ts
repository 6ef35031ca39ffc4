export { createWorker } from "./create-worker.ts";
export type { Worker, WorkerDeps } from "./create-worker.ts";
export type { ServerInfo } from "./present-outcome.ts";
export { TaskStopped } from "./task-stopped.ts";
export type { StopReason } from "./task-stopped.ts";
