import type { NewTask } from "@perdure/tasks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ASKED, SITUATIONS } from "./testing/situations.ts";
import { CALM, namesOf, newTask, startBench } from "./testing/start-bench.ts";
import type { Bench } from "./testing/start-bench.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench[Symbol.asyncDispose]());

async function reach(situationName: string, task: NewTask = newTask()) {
  const situation = SITUATIONS.find(({ name }) => name === situationName)!;
  const claim = await situation.reach(bench, task);
  return { ...namesOf(task), claim: claim! };
}

/** What is due when, give or take the time that the test itself takes. */
function about(ms: number) {
  return expect.closeTo(ms, -3.5);
}

const TTL_MS = newTask().ttlMs;

test.each([
  ["queued", CALM.rewakeMs, "when its wake-up may be lost"],
  ["leased", CALM.leaseMs, "when its lease ends"],
  ["asking", TTL_MS, "when it expires"],
  ["asking, for a time", 30_000, "when its time comes"],
  ["sleeping", 30_000, "when its time comes"],
  ["completed", TTL_MS, "when its keeping time is over"],
  ["cancelled", TTL_MS, "when its keeping time is over"],
  ["failed by expiry", CALM.retentionMs, "after the retention"],
])("a task that is %s is due in %d ms: %s", async (situation, ms) => {
  const { ref } = await reach(situation);
  expect(await bench.dueInMs(ref)).toEqual(about(ms));
  expect((await bench.bytesOf(ref)).dueEntries).toBe(1);
});

test("a heartbeat moves the entry to the new end of the lease", async () => {
  const { ref, claim } = await reach("leased");
  await bench.age(ref, CALM.leaseMs);
  expect(await bench.dueInMs(ref)).toEqual(about(0));
  await bench.with({}).leases.heartbeat(claim);
  expect(await bench.dueInMs(ref)).toEqual(about(CALM.leaseMs));
});

test("nothing is due later than its expiry while it goes on", async () => {
  const { ref, claim } = await reach("leased", newTask({ ttlMs: 20_000 }));
  expect(await bench.dueInMs(ref)).toEqual(about(20_000));
  await bench
    .with({})
    .leases.park(claim, { requests: [], sleeps: [{ name: "night", durationMs: 3_600_000 }] });
  expect(await bench.dueInMs(ref)).toEqual(about(20_000));
});

test("an ended task is kept for its ttl, and for the retention at least", async () => {
  const { ref, claim } = await reach("leased", newTask({ ttlMs: 20_000 }));
  await bench.with({}).leases.settle(claim, { status: "completed", result: "{}" });
  expect(await bench.dueInMs(ref)).toEqual(about(CALM.retentionMs));
});

test("a takeover counts the worker before as dead, and one death too many leaves the task to the reconciler", async () => {
  const { ref, address } = await reach("leased, and the lease is over");
  const { leases, due, store } = bench.with({ maxCrashes: 1 });
  expect(await leases.claim(ref)).toMatchObject({
    verdict: "claimed",
    task: { attempt: 1, claim: { epoch: 2 } },
    tookOver: true,
  });
  expect((await bench.bytesOf(ref)).record).toMatchObject({ crashes: "1" });
  await bench.age(ref, CALM.leaseMs);
  expect(await leases.claim(ref)).toEqual({ verdict: "held" });
  expect(await due.rouse(ref)).toEqual({ verdict: "failed" });
  expect(await store.read(address)).toMatchObject({
    snapshot: { status: "failed", statusMessage: "The task ended 2 workers and was given up" },
  });
});

test("a queued task is looked at less often the longer it has waited, down to a third as often", async () => {
  const { ref } = await reach("queued");
  const { due } = bench.with({ rewakeMs: 5000 });
  const looks: number[] = [];
  for (const waitedMs of [0, 6000, 14_000, 60_000]) {
    await bench.age(ref, waitedMs);
    await due.rouse(ref);
    looks.push(await bench.dueInMs(ref));
  }
  expect(looks).toEqual([about(5000), about(5000), about(10_000), about(15_000)]);
});

test("what was taken comes back by itself when its taker dies", async () => {
  const { ref } = await reach("queued, overdue");
  const { due } = bench.with({});
  expect(await due.take(100)).toContainEqual(ref);
  expect(await due.take(100)).not.toContainEqual(ref);
  expect(await bench.dueInMs(ref)).toEqual(about(2000));
  await bench.age(ref, 2000);
  expect(await due.take(100)).toContainEqual(ref);
});

test("what was looked at too early goes back to its time", async () => {
  const { ref } = await reach("sleeping");
  const before = await bench.bytesOf(ref);
  await bench.redis.zadd("{s00}:due", 0, `${ref.tenantRef}:${ref.taskId}`);
  expect(await bench.with({}).due.rouse(ref)).toEqual({ verdict: "later" });
  expect(await bench.dueInMs(ref)).toEqual(about(30_000));
  expect(await bench.bytesOf(ref)).toEqual(before);
});

test("a task that was extended between the look and its expiry is still looked at when its lease ends", async () => {
  const { ref } = await reach("leased");
  expect(await bench.with({}).due.expire(ref)).toEqual({ verdict: "later" });
  expect(await bench.dueInMs(ref)).toEqual(about(CALM.leaseMs));
});

test("an entry whose record is gone is removed", async () => {
  const { ref } = await reach("queued");
  await bench.redis.del(bench.base.keys.record(ref));
  expect(await bench.with({}).due.rouse(ref)).toEqual({ verdict: "gone" });
  expect((await bench.bytesOf(ref)).dueEntries).toBe(0);
});

test("an ended task keeps its request and its end, and nothing of its journal", async () => {
  const { ref, claim, address } = await reach("leased");
  const { leases, store } = bench.with({});
  await leases.recordStep(claim, "outline", "[]");
  await leases.park(claim, { requests: [ASKED], sleeps: [] });
  await store.answer(address, [{ key: ASKED.key, response: "{}" }]);
  await store.cancel(address, "enough");
  const { record } = await bench.bytesOf(ref);
  expect(Object.keys(record).filter((field) => field.includes(":"))).toEqual([]);
  expect(record).toMatchObject({ status: "cancelled", message: "enough", params: newTask().params });
});

test("a tombstone goes by itself", async () => {
  const { ref, address } = await reach("removed, with a tombstone");
  const leftMs = await bench.redis.pttl(bench.base.keys.record(ref));
  expect(leftMs).toEqual(about(CALM.tombstoneMs));
  await bench.redis.pexpire(bench.base.keys.record(ref), 0);
  expect(await bench.with({}).store.read(address)).toEqual({ verdict: "unknown" });
});

test("I4: lastUpdatedAt stays where it is when the clock of Redis goes back", async () => {
  const { ref, claim, address } = await reach("leased");
  // Everything was an hour later than now.
  await bench.age(ref, -3_600_000);
  const before = await bench.with({}).store.read(address);
  await bench.with({}).leases.progress(claim, "half");
  const after = await bench.with({}).store.read(address);
  if (before.verdict !== "found") throw new Error(before.verdict);
  expect(after).toMatchObject({ snapshot: { ver: 2, lastUpdatedAtMs: before.snapshot.lastUpdatedAtMs } });
});
