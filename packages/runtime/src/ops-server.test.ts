import { afterEach, expect, test } from "vitest";
import { createLog } from "./log.ts";
import { createMetrics } from "./metrics.ts";
import { createOpsServer, type OpsServer, type OpsServerDeps } from "./ops-server.ts";

const servers: OpsServer[] = [];

async function startOps(deps: Partial<OpsServerDeps> = {}): Promise<string> {
  const server = createOpsServer({
    host: "127.0.0.1",
    port: 0,
    metrics: createMetrics({ role: "worker" }),
    live: () => true,
    ready: () => Promise.resolve([]),
    log: createLog({ level: "silent", role: "worker" }),
    ...deps,
  });
  servers.push(server);
  return (await server.start()).url;
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

test("a ready process says so", async () => {
  const response = await fetch(`${await startOps()}/readyz`);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: "ready", problems: [] });
});

test("a process that is not ready says why", async () => {
  const response = await fetch(
    `${await startOps({ ready: () => Promise.resolve(["Redis is gone"]) })}/readyz`,
  );
  expect(response.status).toBe(503);
  expect(await response.json()).toEqual({ status: "not ready", problems: ["Redis is gone"] });
});

test("a check that throws is a problem, not a crash", async () => {
  const response = await fetch(
    `${await startOps({ ready: () => Promise.reject(new Error("boom")) })}/readyz`,
  );
  expect(response.status).toBe(503);
  expect(await response.json()).toEqual({ status: "not ready", problems: ["The check failed: boom"] });
});

test("probes at the same time share one check", async () => {
  let checks = 0;
  const { promise, resolve } = Promise.withResolvers<readonly string[]>();
  const url = await startOps({
    ready: () => {
      checks += 1;
      setTimeout(() => resolve([]), 100);
      return promise;
    },
  });
  await Promise.all([1, 2, 3].map(() => fetch(`${url}/readyz`)));
  expect(checks).toBe(1);
});

test("liveness, a wrong path and a wrong method have their statuses", async () => {
  const alive = await startOps();
  expect((await fetch(`${alive}/livez`)).status).toBe(200);
  expect((await fetch(`${await startOps({ live: () => false })}/livez`)).status).toBe(503);
  expect((await fetch(`${alive}/mcp`)).status).toBe(404);
  expect((await fetch(`${alive}/metrics`, { method: "POST" })).status).toBe(405);
});

test("a scrape gets our metrics and the process's, each with the role", async () => {
  const metrics = createMetrics({ role: "worker" });
  metrics.taskTransitions.inc({ to: "completed" });
  metrics.fencedWrites.inc({ reason: "taken" });
  const response = await fetch(`${await startOps({ metrics })}/metrics`);
  expect(response.headers.get("content-type")).toContain("text/plain");
  const text = await response.text();
  expect(text).toContain('perdure_task_transitions_total{to="completed",role="worker"} 1');
  expect(text).toContain('perdure_fenced_writes_total{reason="taken",role="worker"} 1');
  expect(text).toContain("process_cpu_seconds_total");
});

test("two sets of metrics in one process are apart", async () => {
  const [left, right] = [createMetrics({ role: "api" }), createMetrics({ role: "worker" })];
  left.listeners.inc();
  expect(await right.render()).toContain('perdure_listeners{role="worker"} 0');
});

test("a taken port is an error at the start, and a stopped server can be stopped again", async () => {
  const url = await startOps();
  await expect(startOps({ port: Number(new URL(url).port) })).rejects.toThrow(/EADDRINUSE/);
  await servers[0]?.stop();
  await servers[0]?.stop();
  await expect(fetch(`${url}/livez`)).rejects.toThrow("fetch failed");
});
