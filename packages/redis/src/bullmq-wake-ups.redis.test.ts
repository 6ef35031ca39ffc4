import { mintTaskId, tenantRefOf } from "@perdure/tasks";
import type { WakeUp } from "@perdure/tasks";
import { created, startRedis, until } from "@perdure/testkit";
import type { RunningRedis } from "@perdure/testkit";
import { Queue } from "bullmq";
import { Redis } from "ioredis";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createRedisTasks } from "./redis-tasks.ts";
import type { RedisTasks } from "./redis-tasks.ts";
import { namesOf, newTask } from "./testing/start-bench.ts";

const LEASE_MS = 1000;

let server: RunningRedis;
let redis: Redis;
let tasks: RedisTasks;
let stopping: (() => Promise<void>)[];

beforeEach(async () => {
  server = await startRedis();
  redis = new Redis(server.url, { maxRetriesPerRequest: null });
  tasks = createRedisTasks({ redisUrl: server.url, durability: "ephemeral", leaseMs: LEASE_MS });
  await tasks.start();
  stopping = [];
});
afterEach(async () => {
  await Promise.all(stopping.map((stop) => stop()));
  await tasks.stop();
  redis.disconnect();
  await server.stop();
});

function newWakeUp(): WakeUp {
  return { ref: { tenantRef: tenantRefOf("acme"), taskId: mintTaskId() }, wake: 3, epoch: 2 };
}

/** Collects what comes. */
async function startConsumer(from: RedisTasks, concurrency = 4): Promise<WakeUp[]> {
  const consumer = from.createWakeUpConsumer({ concurrency });
  stopping.push(() => consumer.stop(0));
  const taken: WakeUp[] = [];
  await consumer.start(async (wakeUp) => void taken.push(wakeUp));
  return taken;
}

describe("a wake-up", () => {
  test("is a job of ids only, under an id out of the record", async () => {
    const wakeUp = newWakeUp();
    await tasks.wakeUps.send(wakeUp);
    const { tenantRef, taskId } = wakeUp.ref;
    const job = await redis.hgetall(`{s00}:wakeups:${taskId}-3-2`);
    expect(JSON.parse(job["data"]!)).toEqual({ t: tenantRef, id: taskId, w: 3, e: 2 });
  });

  test("leaves nothing behind once it was handled", async () => {
    const taken = await startConsumer(tasks);
    const wakeUp = newWakeUp();
    await tasks.wakeUps.send(wakeUp);
    await until(() => taken.length === 1, { what: "it to come" });
    const left = () => redis.keys(`*${wakeUp.ref.taskId}*`);
    await until(async () => (await left()).length === 0, { what: "it to be gone" });
    expect(await left()).toEqual([]);
  });

  test("that a worker took and died with goes to another within two leases", async () => {
    const doomed = tasks.createWakeUpConsumer({ concurrency: 1 });
    const tookIt = Promise.withResolvers<void>();
    const { promise: never } = Promise.withResolvers<void>();
    await doomed.start(() => {
      tookIt.resolve();
      return never;
    });
    const wakeUp = newWakeUp();
    await tasks.wakeUps.send(wakeUp);
    await tookIt.promise;
    await doomed.stop(0);
    const diedAt = performance.now();
    const taken = await startConsumer(tasks);
    await until(() => taken.length === 1, { what: "it to come" });
    expect(taken).toEqual([wakeUp]);
    expect(performance.now() - diedAt).toBeLessThan(2 * LEASE_MS + 1000);
  });

  test("that none of ours sent is dropped, and stops nothing", async () => {
    const taken = await startConsumer(tasks);
    const queue = new Queue("wakeups", { prefix: "{s00}", connection: redis });
    await queue.add("wake", { anything: true }, { removeOnComplete: true });
    const wakeUp = newWakeUp();
    await tasks.wakeUps.send(wakeUp);
    await until(() => taken.length === 1, { what: "ours to come" });
    expect(taken).toEqual([wakeUp]);
    await queue.close();
  });

  test("I11: is sent again by the reconciler when BullMQ's keys are deleted behind our back", async () => {
    const task = newTask();
    const { ref } = namesOf(task);
    const { wakeUp } = created(await tasks.store.create(task));
    await tasks.wakeUps.send(wakeUp);
    await redis.del(await redis.keys("{s00}:wakeups*"));
    const taken = await startConsumer(tasks);
    const roused = await tasks.due.rouse(ref);
    expect(roused).toEqual({ verdict: "wake", cause: "queued", wakeUp });
    await tasks.wakeUps.send(wakeUp);
    await until(() => taken.length === 1, { what: "it to come" });
  });

  test("I11: comes all the same when whoever deletes BullMQ's keys overlooks its job", async () => {
    const task = newTask();
    const { wakeUp } = created(await tasks.store.create(task));
    await tasks.wakeUps.send(wakeUp);
    const job = `{s00}:wakeups:${wakeUp.ref.taskId}-1-0`;
    await redis.del((await redis.keys("{s00}:wakeups*")).filter((key) => key !== job));
    const taken = await startConsumer(tasks);
    const roused = await tasks.due.rouse(wakeUp.ref);
    if (roused.verdict !== "wake") throw new Error(roused.verdict);
    await tasks.wakeUps.send(roused.wakeUp, { isAgain: true });
    await until(() => taken.length === 1, { what: "it to come", timeoutMs: 3000 });
    expect(taken).toMatchObject([{ ref: wakeUp.ref, wake: 1, epoch: 0 }]);
  });
});

describe("a consumer", () => {
  test("takes from every shard, and holds no more than its concurrency over all of them", async () => {
    await redis.flushall();
    const sharded = createRedisTasks({
      redisUrl: server.url,
      durability: "ephemeral",
      leaseMs: 5000,
      shards: 3,
    });
    await sharded.start();
    stopping.push(() => sharded.stop());
    const consumer = sharded.createWakeUpConsumer({ concurrency: 4 });
    stopping.push(() => consumer.stop(0));
    const gate = Promise.withResolvers<void>();
    let inHand = 0;
    let mostInHand = 0;
    let handled = 0;
    await consumer.start(async () => {
      inHand += 1;
      mostInHand = Math.max(mostInHand, inHand);
      await gate.promise;
      inHand -= 1;
      handled += 1;
    });
    const tenants = Array.from({ length: 30 }, (_, index) => tenantRefOf(`tenant ${index}`));
    for (const tenantRef of tenants) {
      await sharded.wakeUps.send({ ref: { tenantRef, taskId: mintTaskId() }, wake: 1, epoch: 0 });
    }
    await until(() => inHand === 4, { what: "all hands to be full" });
    gate.resolve();
    await until(() => handled === 30, { what: "all to be handled" });
    expect(mostInHand).toBe(4);
    const prefixes = new Set((await redis.keys("*:wakeups:meta")).map((key) => key.slice(0, 5)));
    expect(prefixes).toEqual(new Set(["{s00}", "{s01}", "{s02}"]));
  });

  test("goes on by itself after Redis was away", async () => {
    const taken = await startConsumer(tasks);
    await redis.call("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    const wakeUp = newWakeUp();
    await until(
      () =>
        tasks.wakeUps.send(wakeUp).then(
          () => true,
          () => false,
        ),
      { what: "it to be sent" },
    );
    await until(() => taken.length > 0, { what: "it to come" });
    expect(taken[0]).toEqual(wakeUp);
  });

  test("leaves no connection when it has stopped", async () => {
    const before = await countConnections();
    await startConsumer(tasks);
    expect(await countConnections()).toBeGreaterThan(before);
    await Promise.all(stopping.map((stop) => stop()));
    await until(async () => (await countConnections()) === before, { what: "its connections to be gone" });
  });
});

async function countConnections(): Promise<number> {
  return String(await redis.client("LIST"))
    .trim()
    .split("\n").length;
}
