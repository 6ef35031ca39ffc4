import { describeTaskPorts, describeWakeUps, startRedisCluster } from "@perdure/testkit";
import type { RedisCluster, RunningRedis } from "@perdure/testkit";
import { Redis } from "ioredis";
import { afterAll, beforeAll } from "vitest";
import { createRedisTasks } from "./index.ts";
import type { RedisTasksOptions } from "./index.ts";

/** So many that each of three nodes has some. */
const SHARDS = 6;

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterAll(() => cluster?.stop());

const createTasks = (options: Omit<RedisTasksOptions, "redisUrl" | "durability">) =>
  createRedisTasks({ redisUrl: cluster.url, durability: "ephemeral", ...options });

describeTaskPorts("a Redis Cluster", async (options) => {
  const tasks = createTasks({ shards: SHARDS, ...options });
  await Promise.all([tasks.start(), tasks.hints.start()]);
  return tasks;
});

// One shard: a consumer has a hand in each shard at least, and the suite counts hands.
describeWakeUps("BullMQ on a Redis Cluster", async () => {
  await Promise.all(cluster.nodes.map(flush));
  const tasks = createTasks({ leaseMs: 10_000 });
  await tasks.start();
  return {
    wakeUps: tasks.wakeUps,
    createConsumer: (consumer) => tasks.createWakeUpConsumer(consumer),
    stop: () => tasks.stop(),
  };
});

async function flush({ url }: RunningRedis): Promise<void> {
  const redis = new Redis(url);
  await redis.flushall();
  redis.disconnect();
}
