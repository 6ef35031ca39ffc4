import { createRedisTasks } from "@perdure/redis";
import {
  createLog,
  createMetrics,
  createOpsServer,
  openTracing,
  parseConfig,
  reportTrouble,
  runMain,
  runProcess,
  VERSION,
} from "@perdure/runtime";
import { loadCatalog } from "@perdure/toolkit/host";
import { createWorker } from "./create-worker.ts";

await runMain("perdure-worker", async () => {
  const config = parseConfig(process.env, { role: "worker" });
  const log = createLog({ level: config.logLevel, role: "worker" });
  const metrics = createMetrics({ role: "worker" });
  const catalog = await loadCatalog(config.tools, { baseDir: process.cwd() });
  const tracing = await openTracing({ role: "worker", log, env: process.env });
  const redis = createRedisTasks({
    ...config,
    onCommand: (command, seconds) => metrics.redisCommandSeconds.observe({ command }, seconds),
    onError: reportTrouble(log, "Trouble with Redis or its queue"),
  });
  metrics.watchQueue(redis.lookAtQueue);
  const worker = createWorker({
    leases: redis.leases,
    due: redis.due,
    wakeUps: redis.wakeUps,
    consumer: redis.createWakeUpConsumer({ concurrency: config.concurrency }),
    catalog,
    log,
    metrics,
    tracing,
    leaseMs: config.leaseMs,
    maxResultBytes: config.maxResultBytes,
    drainMs: config.drainMs,
    serverInfo: { name: config.serverName, version: VERSION },
  });
  const ops = createOpsServer({
    host: config.opsHost,
    port: config.opsPort,
    metrics,
    live: () => true,
    ready: async () => [...(await redis.health.check()), ...worker.problems()],
    log,
  });
  await runProcess({
    name: "perdure-worker",
    log,
    services: [tracing, ops, redis, worker],
    drainMs: config.drainMs,
  });
});
