import { mintNonce, mintTaskId, tenantRefOf } from "@perdure/tasks";
import type { Claim, NewTask, TaskLeases } from "@perdure/tasks";
import { created, until } from "@perdure/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRedisRateLimits } from "./redis-rate-limits.ts";
import { createRedisTasks } from "./redis-tasks.ts";
import { ASKED, SITUATIONS } from "./testing/situations.ts";
import { namesOf, newTask, startBench } from "./testing/start-bench.ts";
import type { Bench } from "./testing/start-bench.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench[Symbol.asyncDispose]());

const ofTenant = (tenant: string, changes: Partial<NewTask> = {}): NewTask =>
  newTask({ owner: { tenant, principal: "alice" }, ...changes });

const aTenant = (): string => `tenant-${mintNonce()}`;

const countsOf = (tenant: string) => bench.redis.hgetall(`{s00}:n:${tenantRefOf(tenant)}`);

async function claimOf(leases: TaskLeases, task: NewTask): Promise<Claim> {
  const reply = await leases.claim(namesOf(task).ref);
  if (reply.verdict !== "claimed") throw new Error(`Expected a claim, got "${reply.verdict}"`);
  return reply.task.claim;
}

test("a tenant's open tasks are bounded, another's are not touched by it, and an end makes room", async () => {
  const { store } = bench.with({ tenantMaxOpen: 2 });
  const tenant = aTenant();
  const [first, second, third] = [ofTenant(tenant), ofTenant(tenant), ofTenant(tenant)];
  created(await store.create(first));
  created(await store.create(second));
  expect(await store.create(third)).toEqual({ verdict: "limited", maxOpen: 2 });
  expect((await bench.bytesOf(namesOf(third).ref)).record).toEqual({});
  created(await store.create(ofTenant(aTenant())));
  await store.cancel(namesOf(first).address, "not needed");
  created(await store.create(third));
});

test("a tenant's running tasks are bounded: one more waits for a slot, and is due as soon as one is free", async () => {
  const { store, leases, due } = bench.with({ tenantMaxRunning: 1 });
  const tenant = aTenant();
  const [first, second] = [ofTenant(tenant), ofTenant(tenant)];
  await store.create(first);
  const { wakeUp } = created(await store.create(second));
  const claim = await claimOf(leases, first);
  expect(await leases.claim(namesOf(second).ref)).toEqual({ verdict: "throttled" });
  expect(await bench.dueInMs(namesOf(second).ref)).toBeGreaterThan(50_000);
  await leases.settle(claim, { status: "completed", result: "{}" });
  expect(await bench.dueInMs(namesOf(second).ref)).toBeLessThanOrEqual(0);
  expect(await due.rouse(namesOf(second).ref)).toMatchObject({
    verdict: "wake",
    wakeUp: { wake: wakeUp.wake },
  });
  await claimOf(leases, second);
});

test("I3: a takeover after a lease needs no second slot", async () => {
  const tenant = aTenant();
  const task = ofTenant(tenant);
  const { store, leases } = bench.with({ tenantMaxRunning: 1, leaseMs: 1 });
  await store.create(task);
  await claimOf(leases, task);
  await until(async () => (await leases.claim(namesOf(task).ref)).verdict === "claimed", {
    what: "a takeover",
  });
  expect(await countsOf(tenant)).toEqual({ open: "1", running: "1" });
});

test.each(SITUATIONS.filter(({ name }) => name !== "removed").map(({ name }) => name))(
  "I18: a tenant's counts are what its tasks are, for one that is %s, and gone when all have ended",
  async (name) => {
    const tenant = aTenant();
    const task = ofTenant(tenant);
    await SITUATIONS.find((situation) => situation.name === name)!.reach(bench, task);
    const { record } = await bench.bytesOf(namesOf(task).ref);
    const isOpen = record["status"] !== undefined && record["endedBy"] === undefined;
    const expected = {
      ...(isOpen && { open: "1" }),
      ...(isOpen && record["claim"] !== undefined && { running: "1" }),
      ...(isOpen && record["queuedAt"] !== undefined && { queued: "1" }),
    };
    expect(await countsOf(tenant)).toEqual(expected);
    await bench.with({}).store.cancel(namesOf(task).address, "over");
    expect(await countsOf(tenant)).toEqual({});
  },
);

test("a wake-up says how long its tenant's queue is", async () => {
  const { store, leases } = bench.with({});
  const tenant = aTenant();
  const tasks = [ofTenant(tenant), ofTenant(tenant), ofTenant(tenant)];
  const depths: (number | undefined)[] = [];
  for (const task of tasks) depths.push(created(await store.create(task)).wakeUp.depth);
  expect(depths).toEqual([1, 2, 3]);
  await claimOf(leases, tasks[0]!);
  expect(created(await store.create(ofTenant(tenant))).wakeUp.depth).toBe(3);
});

test("I17: a tenant with ten thousand queued tasks does not hold up another tenant's first one", async () => {
  await using tasks = Object.assign(
    createRedisTasks({ redisUrl: bench.server.url, leaseMs: 60_000, durability: "ephemeral" }),
    { [Symbol.asyncDispose]: async () => tasks.stop() },
  );
  await tasks.start();
  const [large, small] = [aTenant(), aTenant()];
  const queue = async (task: NewTask): Promise<void> =>
    tasks.wakeUps.send(created(await tasks.store.create(task)).wakeUp);
  for (let batch = 0; batch < 100; batch += 1) {
    await Promise.all(Array.from({ length: 100 }, () => queue(ofTenant(large))));
  }
  await queue(ofTenant(small));
  const seen: string[] = [];
  const consumer = tasks.createWakeUpConsumer({ concurrency: 1 });
  const isSmall = Promise.withResolvers<void>();
  await consumer.start(async ({ ref }) => {
    seen.push(ref.tenantRef);
    if (ref.tenantRef === tenantRefOf(small)) isSmall.resolve();
  });
  await isSmall.promise;
  await consumer.stop(1000);
  expect(seen.indexOf(tenantRefOf(small))).toBeLessThan(40);
});

test("the same idempotency key with the same question gives the same task, from any replica, even at once", async () => {
  const { store } = bench.with({});
  const tenant = aTenant();
  const same = { idempotency: { key: "order-1", digest: "d1" } };
  const replies = await Promise.all(Array.from({ length: 20 }, () => store.create(ofTenant(tenant, same))));
  const ids = replies.map((reply) => ("snapshot" in reply ? reply.snapshot.taskId : reply.verdict));
  expect(new Set(ids).size).toBe(1);
  expect(replies.filter(({ verdict }) => verdict === "created")).toHaveLength(1);
  expect(await countsOf(tenant)).toEqual({ open: "1", queued: "1" });
});

test("an idempotency key answers as its task is now, also when it has ended", async () => {
  const { store } = bench.with({});
  const task = newTask({ idempotency: { key: "k", digest: "d" } });
  await store.create(task);
  await store.cancel(namesOf(task).address, "over");
  expect(await store.create({ ...task, taskId: mintTaskId() })).toMatchObject({
    verdict: "existing",
    snapshot: { taskId: task.taskId, status: "cancelled" },
  });
});

test("the same idempotency key with another question is refused, and another principal's key is its own", async () => {
  const { store } = bench.with({});
  const tenant = aTenant();
  created(await store.create(ofTenant(tenant, { idempotency: { key: "k", digest: "one" } })));
  const other = ofTenant(tenant, { idempotency: { key: "k", digest: "two" } });
  expect(await store.create(other)).toEqual({ verdict: "conflict" });
  created(await store.create({ ...other, owner: { tenant, principal: "bob" } }));
});

test("I18: an idempotency key goes with its task", async () => {
  const { store, due } = bench.with({ retentionMs: 1 });
  const task = newTask({ ttlMs: 1, idempotency: { key: "k", digest: "d" } });
  await store.create(task);
  const { ref } = namesOf(task);
  await until(async () => (await due.expire(ref)).verdict === "failed", { what: "its expiry" });
  await until(async () => (await due.expire(ref)).verdict === "removed", { what: "its removal" });
  expect(await bench.redis.keys(`{s00}:i:${ref.tenantRef}:*`)).toEqual([]);
  created(await store.create({ ...task, taskId: mintTaskId(), ttlMs: 1000 }));
});

test("answers to a question that is asked count the tenant's queue up once", async () => {
  const tenant = aTenant();
  const task = ofTenant(tenant);
  await SITUATIONS.find(({ name }) => name === "asking")!.reach(bench, task);
  const answers = [{ key: ASKED.key, response: "{}" }];
  const { store } = bench.with({});
  await Promise.all([1, 2, 3].map(() => store.answer(namesOf(task).address, answers)));
  expect((await countsOf(tenant))["queued"]).toBe("1");
});

test("requests over a rate are told which one and for how long to wait, and a refused one counts for nothing", async () => {
  const owner = { tenant: aTenant(), principal: "alice" };
  const rates = createRedisRateLimits(bench.base, { tenantRate: 50, principalRate: 3 });
  const verdicts = await Promise.all(Array.from({ length: 5 }, () => rates.take(owner)));
  expect(verdicts.filter(({ verdict }) => verdict === "allowed")).toHaveLength(3);
  expect(verdicts.at(-1)).toEqual({
    verdict: "limited",
    limit: "principal",
    retryAfterMs: expect.any(Number),
  });
  const bob = { ...owner, principal: "bob" };
  expect(await rates.take(bob)).toEqual({ verdict: "allowed" });
  await until(async () => (await rates.take(owner)).verdict === "allowed", { what: "its turn" });
  await until(async () => (await bench.redis.keys(`{s00}:r:${tenantRefOf(owner.tenant)}*`)).length === 0, {
    what: "the rates to be forgotten",
  });
});

test("near full memory a new task is refused while a running one still commits", async () => {
  await using small = await startBench({ maxmemory: "8mb" });
  const { store, leases } = small.with({});
  const task = newTask();
  await store.create(task);
  const claim = await claimOf(leases, task);
  const filler = "x".repeat(400_000);
  for (let share = 0; share < 0.8;) {
    await small.redis.set(`filler-${mintNonce()}`, filler);
    const memory = await small.redis.info("memory");
    share = Number(/used_memory:(\d+)/.exec(memory)?.[1]) / Number(/maxmemory:(\d+)/.exec(memory)?.[1]);
  }
  const refusal = await until(
    () =>
      store.create(newTask()).then(
        () => undefined,
        (error: unknown) => error,
      ),
    { what: "a refusal" },
  );
  expect(refusal).toMatchObject({ code: "store_full", message: expect.stringContaining("maxmemory") });
  expect(await leases.recordStep(claim, "step", "{}")).toEqual({ verdict: "done" });
  expect(await leases.settle(claim, { status: "completed", result: JSON.stringify(filler) })).toEqual({
    verdict: "done",
  });
});
