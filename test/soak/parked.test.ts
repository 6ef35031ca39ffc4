import { tenantRefOf } from "@perdure/tasks";
import { startCluster, until } from "@perdure/testkit";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { PROBE_TOOLS, createProbe } from "../cluster/probe.ts";

const PARKED = 10_000;
/** Creations in flight. */
const LANES = 50;
/** For a machine that others use as well; what is asked is that nothing stands in the way. */
const FRESH_WITHIN_MS = 2000;

test("I15: ten thousand parked tasks hold no job, no lease and no place of a worker, and a fresh task starts at once", async () => {
  await using cluster = await startCluster({
    replicas: 1,
    workers: 1,
    env: { PERDURE_TOOLS: PROBE_TOOLS, PERDURE_CONCURRENCY: "4" },
  });
  const client = await cluster.client();
  const redis = new Redis(cluster.redis.url);
  try {
    const { args } = createProbe();
    await Promise.all(
      Array.from({ length: LANES }, async () => {
        for (let made = 0; made < PARKED / LANES; made += 1) await client.create("ask_two", args);
      }),
    );
    const ofTenant = () => redis.hgetall(`{s00}:n:${tenantRefOf("acme")}`);
    await until(async () => (await jobsIn(redis)) === 0, { what: "an empty queue", timeoutMs: 180_000 });
    // No task runs or waits for a worker: so none has a lease.
    expect(await ofTenant()).toEqual({ open: String(PARKED) });
    expect(await redis.zcard("{s00}:running")).toBe(0);

    const begin = performance.now();
    const fresh = await client.create("who_calls", args);
    await client.untilStatus(fresh, "completed");
    expect(performance.now() - begin).toBeLessThan(FRESH_WITHIN_MS);
    expect(await ofTenant()).toEqual({ open: String(PARKED) });
  } finally {
    redis.disconnect();
  }
}, 300_000);

/** How many jobs BullMQ holds, in whichever state. */
async function jobsIn(redis: Redis): Promise<number> {
  const queue = "{s00}:wakeups:";
  const lists = await Promise.all(["wait", "active", "paused"].map((name) => redis.llen(`${queue}${name}`)));
  const sets = await Promise.all(
    ["prioritized", "delayed", "completed", "failed"].map((name) => redis.zcard(`${queue}${name}`)),
  );
  return [...lists, ...sets].reduce((sum, count) => sum + count, 0);
}
