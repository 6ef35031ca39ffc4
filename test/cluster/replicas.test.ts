import { type Cluster, type WireClient, type WireTask, startCluster, until } from "@perdure/testkit";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROBE_TOOLS, accept, createProbe } from "./probe.ts";

/* Two replicas and a worker that runs one task at a time. Each replica serves every task, whoever created it. */

const LEASE_MS = 3000;
const APPROVED = { approve_outline: { action: "accept", content: { approved: true } } };

let cluster: Cluster;
let redis: Redis;
let first: WireClient;
let second: WireClient;

beforeAll(async () => {
  cluster = await startCluster({
    replicas: 2,
    workers: 1,
    env: { PERDURE_TOOLS: PROBE_TOOLS, PERDURE_LEASE_MS: String(LEASE_MS), PERDURE_CONCURRENCY: "1" },
  });
  redis = new Redis(cluster.redis.url);
  first = await cluster.client({ replica: 0 });
  second = await cluster.client({ replica: 1 });
});
afterAll(async () => {
  redis?.disconnect();
  await cluster?.stop();
});

const isOver = ({ status }: WireTask): boolean => status !== "working" && status !== "input_required";
describe("a task created through one replica", () => {
  test("I1: is read, listened to and answered through another, to its end", async () => {
    const taskId = await first.create("generate_report", { size: "small" });
    expect(await second.get(taskId)).toMatchObject({ taskId, resultType: "complete" });

    await using stream = await second.listen([taskId]);
    expect(stream.acknowledged).toEqual([taskId]);
    const asking = await stream.until(taskId, "input_required");
    expect(Object.keys(asking.inputRequests ?? {})).toEqual(["approve_outline"]);
    await second.update(taskId, APPROVED);
    const pushed = await stream.until(taskId, "completed");

    expect(pushed.result).toMatchObject({
      resultType: "complete",
      structuredContent: { size: "small", approved: true },
    });
    const { _meta: _tag, ...task } = pushed;
    expect(await first.get(taskId)).toMatchObject(task);
  });

  test("is cancelled through another, and a listener on a third connection is told", async () => {
    const taskId = await first.create("confirm_delete", { filename: "a.txt" });
    await using stream = await first.listen([taskId]);
    await stream.until(taskId, "input_required");
    expect(await second.cancel(taskId)).toMatchObject({ resultType: "complete" });
    await stream.until(taskId, "cancelled");
    expect((await first.get(taskId)).status).toBe("cancelled");
  });

  test("I5: is never seen to go back, read through both by turns and pushed meanwhile", async () => {
    const taskId = await first.create("generate_report", { size: "small" });
    await using stream = await second.listen([taskId]);
    const read: WireTask[] = [];
    const reading = until(
      async () => {
        read.push(await (read.length % 2 > 0 ? first : second).get(taskId));
        return read.some(isOver);
      },
      { what: "the end, by reading" },
    );
    await first.untilStatus(taskId, "input_required");
    await second.update(taskId, APPROVED);
    await stream.until(taskId, "completed");
    await reading;
    for (const seen of [read, stream.tasks]) {
      const times = seen.map(({ lastUpdatedAt }) => Date.parse(lastUpdatedAt));
      expect(times).toEqual([...times].sort((a, b) => a - b));
      // A reader may miss a state that passed quickly, but sees none out of order.
      const passed = seen.map(({ status }) => status).filter((status, at, all) => status !== all[at - 1]);
      expect(passed.join()).toMatch(/^(working,)?(input_required,)?(working,)?completed$/);
    }
  });
});

describe("two inputs outstanding at once", () => {
  test("are asked together, and the one that is left is asked for until it is answered", async () => {
    const probe = createProbe();
    const taskId = await first.create("ask_two", probe.args);
    const both = await first.untilStatus(taskId, "input_required");
    expect(Object.keys(both.inputRequests ?? {})).toEqual(["name", "colour"]);
    await first.update(taskId, { colour: accept("green") });
    const one = await second.get(taskId);
    expect(one.status).toBe("input_required");
    expect(Object.keys(one.inputRequests ?? {})).toEqual(["name"]);
    await second.update(taskId, { name: accept("Ann") });
    expect((await first.untilStatus(taskId, "completed")).result?.content).toEqual([
      { type: "text", text: "Ann,green" },
    ]);
  });

  test("I7: answered one by one through two replicas at the same instant both count, and resume the task once", async () => {
    for (let round = 0; round < 8; round += 1) {
      const probe = createProbe();
      const taskId = await first.create("ask_two", probe.args);
      await first.untilStatus(taskId, "input_required");
      await Promise.all([
        first.update(taskId, { name: accept(`n${round}`) }),
        second.update(taskId, { colour: accept(`c${round}`) }),
      ]);
      const task = await second.untilStatus(taskId, "completed");
      expect(task.result?.content).toEqual([{ type: "text", text: `n${round},c${round}` }]);
      expect(probe.lines()).toEqual(["leg", "leg", "answered"]);
    }
  });

  test("I7: of two answers to one key the first wins, and the second is acknowledged and dropped", async () => {
    const taskId = await first.create("ask_two", createProbe().args);
    await first.untilStatus(taskId, "input_required");
    await first.update(taskId, { name: accept("the first") });
    expect(await second.update(taskId, { name: accept("the second") })).toMatchObject({
      resultType: "complete",
    });
    await second.update(taskId, { colour: accept("red") });
    const task = await first.untilStatus(taskId, "completed");
    expect(task.result?.content).toEqual([{ type: "text", text: "the first,red" }]);
  });
});

test("I15: a parked task holds no job and no slot: the one slot of the worker runs another task meanwhile", async () => {
  const parked = await Promise.all(
    Array.from({ length: 5 }, () => first.create("ask_two", createProbe().args)),
  );
  await Promise.all(parked.map((taskId) => first.untilStatus(taskId, "input_required")));
  const states = ["wait", "active", "paused", "prioritized", "delayed", "completed", "failed"];
  const jobsIn = async (state: string): Promise<number> => {
    const key = `{s00}:wakeups:${state}`;
    return (await redis.type(key)) === "zset" ? redis.zcard(key) : redis.llen(key);
  };
  await until(async () => (await jobsIn("active")) === 0, { what: "no job to be active" });
  expect(await Promise.all(states.map(jobsIn))).toEqual(states.map(() => 0));
  for (const taskId of parked) {
    const [key = ""] = await redis.keys(`*:t:*:${taskId}`);
    expect(await redis.hmget(key, "claim", "leaseEnd", "queuedAt")).toEqual([null, null, null]);
  }

  const taskId = await first.create("who_calls", createProbe().args);
  await second.untilStatus(taskId, "completed");
  for (const id of parked) expect((await second.get(id)).status).toBe("input_required");
  await Promise.all(parked.map((id) => second.cancel(id)));
});

describe("a cancel", () => {
  test("I9: at the same instant as the last answer, through two replicas, ends the task one way, for good", async () => {
    for (let round = 0; round < 10; round += 1) {
      const probe = createProbe();
      const taskId = await first.create("ask_two", probe.args);
      await first.untilStatus(taskId, "input_required");
      const answers = { name: accept("Ann"), colour: accept("red") };
      const race = [() => first.update(taskId, answers), () => second.cancel(taskId)];
      if (round % 2 > 0) race.reverse();
      await Promise.all(race.map((go) => go()));
      const { status } = await first.untilOver(taskId);
      expect(["completed", "cancelled"]).toContain(status);
      expect(probe.count("answered")).toBeGreaterThanOrEqual(status === "completed" ? 1 : 0);
      const end = await second.post("tasks/get", { taskId }, { id: "end" });
      await second.cancel(taskId);
      await first.update(taskId, answers);
      // I2: the end never changes.
      expect((await first.post("tasks/get", { taskId }, { id: "end" })).text).toBe(end.text);
    }
  });

  test("I9: while a worker runs the task ends it at once, and stops the run within a heartbeat", async () => {
    const probe = createProbe();
    const taskId = await first.create("hold", probe.args);
    await probe.line("runs");
    await second.cancel(taskId);
    const cancelledAt = performance.now();
    expect(await first.get(taskId)).toMatchObject({ status: "cancelled" });
    expect(await probe.line("stopped")).toContain("cancelled");
    // A heartbeat is a third of the lease; the rest is for a busy machine.
    expect(performance.now() - cancelledAt).toBeLessThan(LEASE_MS);
    probe.open();
    const next = createProbe();
    await first.untilStatus(await first.create("who_calls", next.args), "completed");
    expect(probe.count("ends")).toBe(0);
    expect((await second.get(taskId)).status).toBe("cancelled");
  });

  test("I9: of a task that no worker has taken yet means that it never starts", async () => {
    const blocking = createProbe();
    await first.create("hold", blocking.args);
    await blocking.line("runs");
    const probe = createProbe();
    const taskId = await first.create("who_calls", probe.args);
    await second.cancel(taskId);
    blocking.open();
    const after = createProbe();
    await first.untilStatus(await first.create("who_calls", after.args), "completed");
    expect(probe.lines()).toEqual([]);
    expect((await second.get(taskId)).status).toBe("cancelled");
  });
});
