import { describeTaskPorts, describeWakeUps, startRedis } from "@perdure/testkit";
import type { RunningRedis } from "@perdure/testkit";
import { afterAll, beforeAll } from "vitest";
import { createRedisTasks } from "./index.ts";

let redis: RunningRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

describeTaskPorts("Redis", async (options) => {
  const tasks = createRedisTasks({ redisUrl: redis.url, durability: "ephemeral", ...options });
  await Promise.all([tasks.start(), tasks.hints.start()]);
  return tasks;
});

describeWakeUps("BullMQ", async () => {
  const own = await startRedis();
  const tasks = createRedisTasks({ redisUrl: own.url, durability: "ephemeral", leaseMs: 10_000 });
  await tasks.start();
  return {
    wakeUps: tasks.wakeUps,
    createConsumer: (consumer) => tasks.createWakeUpConsumer(consumer),
    async stop() {
      await tasks.stop();
      await own.stop();
    },
  };
});
