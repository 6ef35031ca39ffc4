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
} from "@perdure/runtime";
import { loadCatalog } from "@perdure/toolkit/host";
import { createReplica } from "./replica.ts";

/** A replica as a process: `npm run api`. */
await runMain("perdure-api", async () => {
  const config = parseConfig(process.env, { role: "api" });
  const log = createLog({ level: config.logLevel, role: "api" });
  const metrics = createMetrics({ role: "api" });
  const tracing = await openTracing({ role: "api", log, env: process.env });
  const redis = createRedisTasks({
    ...config,
    onCommand: (command, seconds) => metrics.redisCommandSeconds.observe({ command }, seconds),
    onError: reportTrouble(log, "Trouble with Redis"),
  });
  metrics.watchQueue(redis.lookAtQueue);
  const catalog = await loadCatalog(config.tools, { baseDir: process.cwd() });
  const replica = createReplica({ ...redis, config, catalog, log, metrics, tracing });
  const ops = createOpsServer({
    host: config.opsHost,
    port: config.opsPort,
    metrics,
    live: () => true,
    ready: async () => [...replica.problems(), ...(await redis.health.check())],
    log,
  });
  const services = [tracing, ops, redis, redis.hints, ...replica.services];
  await runProcess({
    name: "perdure-api",
    log,
    services,
    drainMs: config.drainMs,
    delayMs: config.shutdownDelayMs,
    onSignal: () => replica.leave(),
  });
});
