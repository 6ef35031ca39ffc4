import { created, startRedis, until } from "@perdure/testkit";
import type { RunningRedis } from "@perdure/testkit";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRedisTasks } from "./redis-tasks.ts";
import type { RedisTasks } from "./redis-tasks.ts";
import { ASKED } from "./testing/situations.ts";
import { namesOf, newTask } from "./testing/start-bench.ts";

let master: RunningRedis;
let replica: RunningRedis;
let onMaster: Redis;
let tasks: RedisTasks;

beforeAll(async () => {
  master = await startRedis({ settings: { "repl-diskless-sync-delay": "0" } });
  replica = await startRedis({ settings: { replicaof: `127.0.0.1 ${master.port}` } });
  onMaster = new Redis(master.url);
  await until(isFollowed, { what: "the replica to follow" });
  tasks = createRedisTasks({
    redisUrl: master.url,
    leaseMs: 60_000,
    durability: "ephemeral",
    waitReplicas: 1,
  });
  await tasks.start();
});
/** Without a write before it, WAIT is content with a replica that is still loading its first copy. */
async function isFollowed(): Promise<boolean> {
  await onMaster.set("probe", "1");
  return (await onMaster.wait(1, 100)) === 1;
}
afterAll(async () => {
  await tasks?.stop();
  onMaster?.disconnect();
  await replica?.stop();
  await master?.stop();
});

test("I1: what was acknowledged lies on the replica, though the master is gone the next moment", async () => {
  const task = newTask();
  const { ref, address } = namesOf(task);
  created(await tasks.store.create(task));
  const claim = await tasks.leases.claim(ref);
  if (claim.verdict !== "claimed") throw new Error("not claimed");
  await tasks.leases.park(claim.task.claim, { requests: [ASKED], sleeps: [] });
  const many = Array.from({ length: 200 }, () => newTask());
  await Promise.all(many.map((made) => tasks.store.create(made)));
  const answered = await tasks.store.answer(address, [{ key: ASKED.key, response: "{}" }]);
  expect(answered).toMatchObject({ verdict: "accepted", applied: [ASKED.key] });
  await master.kill();

  const onReplica = new Redis(replica.url);
  expect(await onReplica.hget(`{s00}:t:${ref.tenantRef}:${ref.taskId}`, `rs:${ASKED.key}`)).toBe("{}");
  const keys = many
    .map((made) => namesOf(made).ref)
    .map((each) => `{s00}:t:${each.tenantRef}:${each.taskId}`);
  expect(await onReplica.exists(...keys)).toBe(keys.length);
  onReplica.disconnect();
  master = await startRedis({ port: master.port, settings: { "repl-diskless-sync-delay": "0" } });
});

test("many at once share their waits", async () => {
  await until(() => isFollowed().catch(() => false), { what: "the replica again" });
  await until(() => tasks.store.create(newTask()).catch(() => undefined), { what: "the store again" });
  await onMaster.config("RESETSTAT");
  await Promise.all(Array.from({ length: 200 }, () => tasks.store.create(newTask())));
  const waits = /cmdstat_wait:calls=(\d+)/.exec(await onMaster.info("commandstats"))?.[1];
  expect(Number(waits)).toBeGreaterThan(0);
  expect(Number(waits)).toBeLessThan(100);
});

test("without a replica the outcome is said to be unknown, in time; reading goes on", async () => {
  await replica.kill();
  const task = newTask();
  const askedAt = performance.now();
  await expect(tasks.store.create(task)).rejects.toMatchObject({ code: "store_unknown_outcome" });
  expect(performance.now() - askedAt).toBeLessThan(2000);
  expect(await tasks.store.read(namesOf(task).address)).toMatchObject({ verdict: "found" });
});
