import { mintTaskId } from "@perdure/tasks";
import type { Claim, NewTask } from "@perdure/tasks";
import { created, startRedis, until } from "@perdure/testkit";
import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { createRedisTasks } from "./redis-tasks.ts";
import type { RedisTasks, RedisTasksOptions } from "./redis-tasks.ts";
import { namesOf, newTask } from "./testing/start-bench.ts";
import { startLossyProxy } from "./testing/start-lossy-proxy.ts";

async function startTasks(redisUrl: string, changes: Partial<RedisTasksOptions> = {}) {
  const tasks = createRedisTasks({ redisUrl, leaseMs: 10_000, durability: "ephemeral", ...changes });
  await tasks.start();
  return { ...tasks, [Symbol.asyncDispose]: () => tasks.stop() };
}

/** The code of the error that the step ends with; "none" when it succeeds, "late" when a replica would answer too late. */
async function failureOf(step: Promise<unknown>): Promise<string> {
  const askedAt = performance.now();
  const code = await step.then(
    () => "none",
    (error: { code: string }) => error.code,
  );
  return performance.now() - askedAt < 2000 ? code : "late";
}

describe("a reply that is lost on its way", () => {
  test("I12: is asked for again by the client, and what was done is not done twice", async () => {
    await using server = await startRedis();
    await using proxy = await startLossyProxy(server.port);
    await using tasks = await startTasks(proxy.url);
    const task = newTask();
    const { address, ref } = namesOf(task);

    const createLost = proxy.loseReplyTo(task.taskId);
    const { snapshot } = created(await tasks.store.create(task));
    await createLost;
    const claim = await claimed(tasks, task);
    const progressLost = proxy.loseReplyTo("half of it");
    expect(await tasks.leases.progress(claim, "half of it")).toEqual({ verdict: "done" });
    await progressLost;
    const request = { key: "approve", request: "{}" };
    await tasks.leases.park(claim, { requests: [request], sleeps: [] });
    const answerLost = proxy.loseReplyTo("approve");
    const answered = await tasks.store.answer(address, [{ key: "approve", response: "{}" }]);
    await answerLost;

    expect(answered).toMatchObject({ applied: ["approve"], wakeUp: { ref, wake: 2, epoch: 1 } });
    expect(await tasks.store.read(address)).toMatchObject({
      // One each for the creation, the progress, the request and the answer.
      snapshot: { ver: 4, createdAtMs: snapshot.createdAtMs },
    });
  });
});

describe("a Redis that is gone", () => {
  test("nothing is sent and every step says so in time, and all goes on by itself when it is back", async () => {
    const server = await startRedis();
    await using tasks = await startTasks(server.url);
    const task = newTask();
    await tasks.store.create(task);
    await server.kill();
    await until(
      async () => (await failureOf(tasks.store.read(namesOf(task).address))) === "store_unavailable",
      {
        what: "the store to be said unavailable",
      },
    );
    expect(await failureOf(tasks.store.create(newTask()))).toBe("store_unavailable");
    const wakeUp = { ref: namesOf(task).ref, wake: 1, epoch: 0 };
    expect(await failureOf(tasks.wakeUps.send(wakeUp))).toBe("store_unavailable");
    expect(await failureOf(tasks.health.check())).toBe("none");
    expect(await tasks.health.check()).toEqual([expect.stringContaining("cannot be reached")]);

    await using _again = await startRedis({ port: server.port, dir: server.dir });
    const reply = await until(() => tasks.store.create(newTask()).catch(() => undefined), {
      what: "the store to be back",
    });
    await tasks.wakeUps.send(created(reply).wakeUp);
    expect(await tasks.health.check()).toEqual([]);
  });

  test("steps that wait for it are forgotten when they give up: none is sent afterwards", async () => {
    const server = await startRedis();
    await using tasks = await startTasks(server.url, { commandTimeoutMs: 300 });
    await server.kill();
    // One that was on its way when the connection broke may be sent again: each try is another task.
    let lost = newTask();
    const isNotSent = async (): Promise<boolean> => {
      lost = newTask();
      return (await failureOf(tasks.store.create(lost))) === "store_unavailable";
    };
    await until(isNotSent, { what: "a create to be refused" });
    await using _again = await startRedis({ port: server.port, dir: server.dir });
    await until(() => tasks.store.create(newTask()).catch(() => undefined), { what: "the store to be back" });
    expect(await tasks.store.read(namesOf(lost).address)).toEqual({ verdict: "unknown" });
  });

  test("once an outage is known, a step is told so at once and not after its whole time", async () => {
    const server = await startRedis();
    await using tasks = await startTasks(server.url, { commandTimeoutMs: 1000 });
    await server.kill();
    await until(async () => (await failureOf(tasks.store.create(newTask()))) === "store_unavailable", {
      what: "a create to be refused",
    });
    const refusedIn = async (): Promise<number> => {
      const askedAt = performance.now();
      await failureOf(tasks.store.create(newTask()));
      return performance.now() - askedAt;
    };
    await until(async () => (await refusedIn()) < 600, { what: "a quick refusal" });
    expect(await refusedIn()).toBeLessThan(600);
  });

  test("start waits for it, and stop ends every step", async () => {
    const server = await startRedis();
    await server.kill();
    const tasks = createRedisTasks({ redisUrl: server.url, leaseMs: 1000, durability: "ephemeral" });
    const starting = tasks.start();
    await using _again = await startRedis({ port: server.port, dir: server.dir });
    await starting;
    expect(await tasks.store.read(namesOf(newTask()).address)).toEqual({ verdict: "unknown" });
    await tasks.stop();
    await tasks.stop();
    await expect(tasks.store.read(namesOf(newTask()).address)).rejects.toMatchObject({
      code: "store_unavailable",
    });
  });
});

test("a Redis that has fallen silent: the outcome is said to be unknown, in time, and it is used again when it wakes", async () => {
  await using server = await startRedis();
  await using tasks = await startTasks(server.url, { commandTimeoutMs: 500 });
  process.kill(server.pid, "SIGSTOP");
  try {
    expect(await failureOf(tasks.store.create(newTask()))).toBe("store_unknown_outcome");
    expect(await failureOf(tasks.health.check())).toBe("none");
    expect(await tasks.health.check()).toHaveLength(1);
  } finally {
    process.kill(server.pid, "SIGCONT");
  }
  await until(() => tasks.store.create(newTask()).catch(() => undefined), { what: "the store to be back" });
});

describe("a Redis that takes no writes", () => {
  test("a full one refuses what would fill it, lets tasks go on to their end, and takes new ones when there is room", async () => {
    await using server = await startRedis();
    await using tasks = await startTasks(server.url);
    const [running, asking, queued] = [newTask(), newTask(), newTask()];
    for (const task of [running, asking, queued]) await tasks.store.create(task);
    const claim = await claimed(tasks, running);
    const parked = await claimed(tasks, asking);
    await tasks.leases.park(parked, { requests: [{ key: "approve", request: "{}" }], sleeps: [] });
    await using bare = await startBareClient(server.url);
    await bare.config("SET", "maxmemory", "1");

    const full = { name: "TaskStoreError", code: "store_full" };
    await expect(tasks.store.create(newTask())).rejects.toMatchObject(full);
    await expect(
      tasks.store.answer(namesOf(asking).address, [{ key: "approve", response: "{}" }]),
    ).rejects.toMatchObject(full);
    await expect(tasks.leases.recordStep(claim, "outline", "[]")).rejects.toMatchObject(full);
    await expect(tasks.leases.progress(claim, "half")).rejects.toMatchObject(full);
    await expect(tasks.wakeUps.send({ ref: namesOf(queued).ref, wake: 1, epoch: 0 })).rejects.toMatchObject(
      full,
    );
    expect(await tasks.health.check()).toEqual([expect.stringContaining("Redis is full")]);

    expect(await tasks.leases.heartbeat(claim)).toEqual({ verdict: "done" });
    const result = '{"content":[]}';
    expect(await tasks.leases.settle(claim, { status: "completed", result })).toEqual({ verdict: "done" });
    expect(await tasks.store.read(namesOf(running).address)).toMatchObject({ snapshot: { result } });
    expect(await tasks.store.cancel(namesOf(queued).address, "enough")).toEqual({ verdict: "cancelled" });
    expect(await tasks.due.take(10)).toEqual([]);
    expect(await tasks.due.rouse(namesOf(asking).ref)).toEqual({ verdict: "later" });
    expect(await tasks.store.read(namesOf(asking).address)).toMatchObject({ snapshot: { ver: 2 } });

    await bare.config("SET", "maxmemory", "0");
    expect(await tasks.store.create(newTask())).toMatchObject({ verdict: "created" });
    expect(await tasks.health.check()).toEqual([]);
  });

  test("a read-only replica is said to be one, by each step and by its health", async () => {
    await using server = await startRedis();
    await using tasks = await startTasks(server.url);
    const task = newTask();
    await tasks.store.create(task);
    await using bare = await startBareClient(server.url);
    await bare.replicaof("127.0.0.1", "1");
    await expect(tasks.store.create(newTask())).rejects.toMatchObject({ code: "store_readonly" });
    await expect(tasks.store.cancel(namesOf(task).address, "no")).rejects.toMatchObject({
      code: "store_readonly",
    });
    expect(await tasks.health.check()).toEqual([expect.stringContaining("takes no writes")]);
    await bare.replicaof("NO", "ONE");
    expect(await tasks.store.cancel(namesOf(task).address, "no")).toEqual({ verdict: "cancelled" });
  });
});

test("a step before start is refused at once, and says that there is no connection", async () => {
  const tasks = createRedisTasks({ redisUrl: "redis://127.0.0.1:1", leaseMs: 1000, durability: "ephemeral" });
  await expect(
    tasks.store.read({ owner: { tenant: "acme", principal: "alice" }, taskId: mintTaskId() }),
  ).rejects.toMatchObject({ code: "store_unavailable", message: "There is no connection to Redis" });
});

async function claimed({ leases }: RedisTasks, task: NewTask): Promise<Claim> {
  const reply = await leases.claim(namesOf(task).ref);
  if (reply.verdict !== "claimed") throw new Error(`Expected a claim, got "${reply.verdict}"`);
  return reply.task.claim;
}

async function startBareClient(url: string) {
  const redis = new Redis(url);
  return Object.assign(redis, { [Symbol.asyncDispose]: async () => redis.disconnect() });
}
