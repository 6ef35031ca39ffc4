import { setTimeout as delay } from "node:timers/promises";
import { type Cluster, type TaskStream, type WireClient, startCluster, until } from "@perdure/testkit";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startDeafLink } from "./deaf-link.ts";
import { PROBE_TOOLS, type Probe, createProbe } from "./probe.ts";

/* A hint may never come: the record says what is, and every listener gets to know it in time. */

const LISTENERS = 20;
const BOUND_MS = 15_000;

// One test waits for the bound itself.
vi.setConfig({ testTimeout: 60_000 });

let cluster: Cluster;
let client: WireClient;
let redis: Redis;

beforeAll(async () => {
  cluster = await startCluster({ replicas: 1, workers: 1, env: { PERDURE_TOOLS: PROBE_TOOLS } });
  client = await cluster.client();
  redis = new Redis(cluster.redis.url);
});
afterAll(async () => {
  redis?.disconnect();
  await cluster?.stop();
});

/** A task that runs, and a stream that has seen it run. */
async function listened(): Promise<{ probe: Probe; taskId: string; stream: TaskStream }> {
  const probe = createProbe();
  const taskId = await client.create("hold", probe.args);
  await probe.line("runs");
  const stream = await client.listen([taskId]);
  await until(() => stream.tasks.length > 0, { what: "the first frame" });
  return { probe, taskId, stream };
}

/** Waits for the end in the record itself. */
async function ended(taskId: string): Promise<unknown> {
  return until(
    async () => {
      const [key = ""] = await redis.keys(`*:t:*:${taskId}`);
      return (await redis.hget(key, "status")) === "completed";
    },
    { what: `the record of ${taskId} to be completed` },
  );
}

const CALM_MS = 10;

test("I14: every listener gets the end within 15 s though the subscriber's connection is cut again and again", async () => {
  const all = await Promise.all(Array.from({ length: LISTENERS }, listened));
  const cutting = new AbortController();
  let cuts = 0;
  const cut = (async () => {
    while (!cutting.signal.aborted) {
      cuts += Number(await redis.call("CLIENT", "KILL", "TYPE", "pubsub"));
      await delay(CALM_MS);
    }
  })();
  try {
    await until(() => cuts > 1, { what: "the connection to be cut" });
    for (const { probe } of all) probe.open();
    await Promise.all(all.map(({ taskId }) => ended(taskId)));
    await Promise.all(all.map(({ stream, taskId }) => stream.until(taskId, "completed", BOUND_MS)));
  } finally {
    cutting.abort();
    await cut;
  }
  expect(all.map(({ stream }) => stream.tasks.at(-1)?.status)).toEqual(all.map(() => "completed"));
  await Promise.all(all.map(({ stream }) => stream.close()));
});

test("I14: and though every single hint is dropped on its way to the replica", async () => {
  await using link = await startDeafLink(cluster.redis.port);
  const replica = await cluster.startReplica({ PERDURE_REDIS_URL: link.url });
  client = await cluster.client({ replica: cluster.replicas.indexOf(replica) });
  const all = await Promise.all(Array.from({ length: LISTENERS }, listened));
  const openedAt = performance.now();
  for (const { probe } of all) probe.open();
  await Promise.all(all.map(({ stream, taskId }) => stream.until(taskId, "completed", BOUND_MS)));
  expect(performance.now() - openedAt).toBeLessThan(BOUND_MS);
  expect(link.dropped()).toBeGreaterThanOrEqual(LISTENERS);
  await Promise.all(all.map(({ stream }) => stream.close()));
});
