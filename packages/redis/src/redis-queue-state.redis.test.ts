import { afterAll, beforeAll, expect, test } from "vitest";
import { createQueueLook } from "./redis-queue-state.ts";
import { namesOf, newTask, startBench } from "./testing/start-bench.ts";
import type { Bench } from "./testing/start-bench.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench[Symbol.asyncDispose]());

test("an operator sees how many tasks are queued, running and parked, and none of those that have ended", async () => {
  const look = createQueueLook(bench.base);
  const { store, leases } = bench.with({});
  const tasks = Array.from({ length: 4 }, () => newTask());
  const [first = newTask(), second = newTask(), third = newTask()] = tasks;
  for (const task of tasks) await store.create(task);
  expect(await look()).toMatchObject({ queued: 4, running: 0, parked: 0, runningForMs: 0 });

  const claims = [];
  for (const task of [first, second, third]) {
    const claimed = await leases.claim(namesOf(task).ref);
    if (claimed.verdict !== "claimed") throw new Error(claimed.verdict);
    claims.push(claimed.task.claim);
  }
  expect(await look()).toMatchObject({ queued: 1, running: 3, parked: 0 });

  const [settled, parked] = claims;
  await leases.settle(settled!, { status: "completed", result: "{}" });
  await leases.park(parked!, { requests: [], sleeps: [{ name: "s", durationMs: 60_000 }] });
  await store.cancel(namesOf(third).address, "enough");
  expect(await look()).toMatchObject({ queued: 1, running: 0, parked: 1 });
});

test("the age is that of the task which has been queued the longest, by the clock of Redis", async () => {
  const look = createQueueLook(bench.base);
  const [seconds, microseconds] = await bench.redis.time();
  const nowMs = Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
  await bench.redis.zadd(bench.base.keys.shards[0]!.work[1], nowMs - 60_000, "tenant:task");
  const { queuedForMs } = await look();
  expect(queuedForMs).toBeGreaterThanOrEqual(60_000);
  expect(queuedForMs).toBeLessThan(70_000);
});
