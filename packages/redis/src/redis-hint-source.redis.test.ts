import { tenantRefOf } from "@perdure/tasks";
import type { Hint, NewTask } from "@perdure/tasks";
import { startRedis, until } from "@perdure/testkit";
import type { RunningRedis } from "@perdure/testkit";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createRedisTasks } from "./redis-tasks.ts";
import type { RedisTasks } from "./redis-tasks.ts";
import { namesOf, newTask } from "./testing/start-bench.ts";

let server: RunningRedis;
let admin: Redis;
let tasks: RedisTasks;
let errors: Error[];

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.url);
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});
beforeEach(async () => {
  errors = [];
  const onError = (error: Error): void => void errors.push(error);
  tasks = createRedisTasks({ redisUrl: server.url, durability: "ephemeral", leaseMs: 10_000, onError });
  await tasks.start();
  await tasks.hints.start();
});
afterEach(() => tasks.stop());

/** Makes a change that listeners are told of: nobody is told of a creation. */
async function change(task: NewTask): Promise<void> {
  await tasks.store.create(task);
  await tasks.store.cancel(task, "no");
}
const channels = async (): Promise<string[]> => (await admin.pubsub("CHANNELS")).map(String);
const killSubscribers = () => admin.call("CLIENT", "KILL", "TYPE", "pubsub");

test("one connection listens for any number of tenants, and for none of those that nobody listens to any more", async () => {
  const tenants = ["acme", "globex", "initech"].map(tenantRefOf);
  const ends = await Promise.all(
    tenants.flatMap((ref) => [ref, ref]).map((ref) => tasks.hints.listen(ref, () => {})),
  );
  expect(await channels()).toHaveLength(3);
  expect(
    String(await admin.call("CLIENT", "LIST", "TYPE", "pubsub"))
      .trim()
      .split("\n"),
  ).toHaveLength(1);
  for (const end of ends) {
    end();
    end();
  }
  await until(async () => (await channels()).length === 0, {
    what: "the subscriptions to end",
  });
});

test("one that leaves and comes back at once hears", async () => {
  const task = newTask();
  const { ref } = namesOf(task);
  const heard: Hint[] = [];
  (await tasks.hints.listen(ref.tenantRef, () => {}))();
  const end = await tasks.hints.listen(ref.tenantRef, (hint) => heard.push(hint));
  await change(task);
  await until(() => heard.length > 0, { what: "the hint" });
  expect(heard).toEqual([{ taskId: task.taskId, ver: 2, status: "cancelled" }]);
  end();
});

test("I14: after a broken connection hints come again, and whoever asked to know of the loss is told after that", async () => {
  const task = newTask();
  const { ref } = namesOf(task);
  const heard: Hint[] = [];
  await tasks.hints.listen(ref.tenantRef, (hint) => heard.push(hint));
  const seenAtLoss: unknown[] = [];
  const told = Promise.withResolvers<void>();
  const forget = tasks.hints.onReconnect(() => {
    seenAtLoss.push(channels());
    told.resolve();
  });
  await killSubscribers();
  await told.promise;
  expect(await Promise.all(seenAtLoss)).toEqual([[`{s00}:hints:${ref.tenantRef}`]]);
  await change(task);
  await until(() => heard.length > 0, { what: "the hint" });

  forget();
  await killSubscribers();
  await until(async () => (await channels()).length === 1, {
    what: "the subscription to be back",
  });
  expect(seenAtLoss).toHaveLength(1);
});

test("a channel that ended while the connection was down is not subscribed to again", async () => {
  const [stays, goes] = ["stays", "goes"].map(tenantRefOf);
  const told = Promise.withResolvers<void>();
  await tasks.hints.listen(stays!, () => {});
  const end = await tasks.hints.listen(goes!, () => {});
  tasks.hints.onReconnect(() => told.resolve());
  await killSubscribers();
  await until(async () => (await channels()).length === 0, {
    what: "the connection to be down",
  });
  end();
  await told.promise;
  expect(await channels()).toEqual([`{s00}:hints:${stays}`]);
});

test("a listener that throws, and a message that is no hint, disturb nobody", async () => {
  const task = newTask();
  const { ref } = namesOf(task);
  const heard: Hint[] = [];
  await tasks.hints.listen(ref.tenantRef, () => {
    throw new Error("a listener's own fault");
  });
  await tasks.hints.listen(ref.tenantRef, (hint) => heard.push(hint));
  for (const message of ["", "x", "a|b|c", "id|1|paused", "id|-1|working", "id|1|working|more"]) {
    await admin.publish(`{s00}:hints:${ref.tenantRef}`, message);
  }
  await change(task);
  await until(() => heard.length > 0, { what: "the hint" });
  expect(heard).toEqual([{ taskId: task.taskId, ver: 2, status: "cancelled" }]);
  expect(errors.map(({ message }) => message)).toEqual(["a listener's own fault"]);
});
