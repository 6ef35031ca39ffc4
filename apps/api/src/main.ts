import { createRedisTasks } from "@perdure/redis";
import {
  createLog,
  createMetrics,
  createOpsServer,
  parseConfig,
  runMain,
  runProcess,
} from "@perdure/runtime";
import { loadCatalog } from "@perdure/toolkit/host";
import { createReplica } from "./replica.ts";

/** A replica as a process: `npm run api`. */
await runMain("perdure api", async () => {
  const config = parseConfig(process.env, { role: "api" });
  const log = createLog({ level: config.logLevel, role: "api" });
  const metrics = createMetrics({ role: "api" });
  const redis = createRedisTasks({
    ...config,
    onError: (error) => log.warn({ err: error }, "Trouble with Redis"),
  });
  const catalog = await loadCatalog(config.tools, { baseDir: process.cwd() });
  const replica = createReplica({ ...redis, config, catalog, log, metrics });
  const ops = createOpsServer({
    host: config.opsHost,
    port: config.opsPort,
    metrics,
    live: () => true,
    ready: async () => [...replica.problems(), ...(await redis.health.check())],
    log,
  });
  const services = [ops, redis, redis.hints, ...replica.services];
  await runProcess({
    name: "perdure api",
    log,
    services,
    drainMs: config.drainMs,
    delayMs: config.shutdownDelayMs,
    onSignal: replica.leave,
  });
});
