export { freePort } from "@perdure/redis-server";
export type { RunningRedis } from "@perdure/redis-server";
export { startRedis } from "./start-redis.ts";
export type { StartRedisOptions } from "./start-redis.ts";
export { until } from "./until.ts";
export type { UntilOptions } from "./until.ts";
export { startCluster } from "./start-cluster.ts";
export type { Cluster, ClusterOptions, ClusterReplica, TestIdentity } from "./start-cluster.ts";
