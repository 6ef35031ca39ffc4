import { createRedisTasks } from "@perdure/redis";
import { createLog, createMetrics } from "@perdure/runtime";
import { createWorker } from "@perdure/worker";
import { serve } from "./program.ts";

/**
 * `idle-workers.ts URL COUNT`: workers with connections of their own that have nothing to do. They share one process, because
 * twenty processes would cost the machine more than they tell: to Redis there is no difference.
 */
const [url = "", count = "1"] = process.argv.slice(2);
const LEASE_MS = 10_000;

const started = await Promise.all(
  Array.from({ length: Number(count) }, async () => {
    const redis = createRedisTasks({
      redisUrl: url,
      leaseMs: LEASE_MS,
      durability: "ephemeral",
      commandTimeoutMs: 20_000,
    });
    await redis.start();
    const worker = createWorker({
      ...redis,
      consumer: redis.createWakeUpConsumer({ concurrency: 20 }),
      catalog: { tools: new Map(), prompts: new Map(), resources: new Map(), resourceTemplates: new Map() },
      log: createLog({ level: "error", role: "worker" }),
      metrics: createMetrics({ role: "worker" }),
      leaseMs: LEASE_MS,
      maxResultBytes: 1_048_576,
      drainMs: 1000,
      serverInfo: { name: "bench", version: "0" },
    });
    await worker.start();
    return { redis, worker };
  }),
);

serve({}, () =>
  Promise.all(
    started.map(async ({ redis, worker }) => {
      await worker.stop();
      await redis.stop();
    }),
  ),
);
