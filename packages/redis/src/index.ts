export { createRedisTasks } from "./redis-tasks.ts";
export type { RedisTasks, RedisTasksOptions, WakeUpConsumerChoice } from "./redis-tasks.ts";
export type { QueueState } from "./redis-queue-state.ts";
export type { OnCommand } from "./timed.ts";
export type { Durability } from "./redis-health.ts";
export { RedisReplyError } from "./replies.ts";
export { RedisSetupError } from "./redis-setup-error.ts";
export type { RedisSetupErrorCode } from "./redis-setup-error.ts";
