export { freePort } from "@perdure/redis-server";
export type { RunningRedis } from "@perdure/redis-server";
export { startRedis } from "./start-redis.ts";
export type { StartRedisOptions } from "./start-redis.ts";
export { startRedisSentinel } from "./start-redis-sentinel.ts";
export type { RedisSentinel } from "./start-redis-sentinel.ts";
export { startRedisCluster } from "./start-redis-cluster.ts";
export type { RedisCluster, RedisClusterOptions } from "./start-redis-cluster.ts";
export { created } from "./created.ts";
export { until } from "./until.ts";
export type { UntilOptions } from "./until.ts";
export { startCluster } from "./start-cluster.ts";
export type {
  Cluster,
  ClusterClientOptions,
  ClusterOptions,
  ClusterReplica,
  TestIdentity,
} from "./start-cluster.ts";
export { TASK_CLIENT, WireFailure, createWireClient } from "./wire-client.ts";
export type { PostOptions, WireClient, WireClientOptions, WireReply } from "./wire-client.ts";
export type { CallResult, Json, WireErrorBody, WireMessage, WireTask } from "./wire-message.ts";
export type { TaskStream } from "./task-stream.ts";
export { describeTaskPorts } from "./task-ports/describe-task-ports.ts";
export type { MakeTaskPorts, TaskPorts, TaskPortsOptions } from "./task-ports/task-bench.ts";
export { describeWakeUps } from "./task-ports/describe-wake-ups.ts";
export type { WakeUpPorts } from "./task-ports/describe-wake-ups.ts";
