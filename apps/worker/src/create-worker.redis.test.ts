import { createRedisTasks, type RedisTasks } from "@perdure/redis";
import { createLog, createMetrics } from "@perdure/runtime";
import { createTaskService, mintTaskId, type TaskAddress, type TaskSnapshot } from "@perdure/tasks";
import { startRedis, until, type RunningRedis } from "@perdure/testkit";
import { defineTool, type TaskContext, type Tool } from "@perdure/toolkit";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { createWorker, type WorkerDeps } from "./create-worker.ts";
import { TaskStopped } from "./task-stopped.ts";

const LEASE_MS = 1000;
const owner = { tenant: "acme", principal: "alice" };

let redis: RunningRedis;
let client: RedisTasks;
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  redis = await startRedis();
  client = connect();
  await client.start();
});
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});
afterAll(async () => {
  await client?.stop();
  await redis?.stop();
});

function connect(): RedisTasks {
  return createRedisTasks({ redisUrl: redis.url, leaseMs: LEASE_MS, durability: "ephemeral", rewakeMs: 500 });
}

async function startWorker(tool: Tool, given: Partial<WorkerDeps> = {}) {
  const tasks = connect();
  await tasks.start();
  const metrics = createMetrics({ role: "worker" });
  const consumer = tasks.createWakeUpConsumer({ concurrency: 5 });
  const worker = createWorker({
    leases: tasks.leases,
    due: tasks.due,
    wakeUps: tasks.wakeUps,
    consumer,
    catalog: {
      tools: new Map([[tool.name, tool]]),
      prompts: new Map(),
      resources: new Map(),
      resourceTemplates: new Map(),
    },
    log: createLog({ level: "silent", role: "worker" }),
    metrics,
    leaseMs: LEASE_MS,
    maxResultBytes: 100_000,
    drainMs: 2000,
    serverInfo: { name: "perdure", version: "1.2.3" },
    ...given,
  });
  await worker.start();
  const stop = async (): Promise<void> => {
    await worker.stop();
    await tasks.stop();
  };
  stops.push(stop);
  const sample = async (line: string): Promise<boolean> => (await metrics.render()).includes(line);
  return { worker, consumer, stop, sample };
}

async function createTask(tool: Tool, args: object = {}): Promise<TaskAddress> {
  const taskId = mintTaskId();
  const service = createTaskService({
    store: client.store,
    wakeUps: client.wakeUps,
    onUnsentWakeUp: () => {},
  });
  await service.create({
    taskId,
    owner,
    scopes: [],
    method: "tools/call",
    params: JSON.stringify({ name: tool.name, arguments: args }),
    tool: tool.name,
    capabilities: JSON.stringify({ elicitation: {} }),
    ttlMs: 60_000,
    pollIntervalMs: 100,
  });
  return { owner, taskId };
}

async function read(address: TaskAddress): Promise<TaskSnapshot> {
  const reply = await client.store.read(address);
  if (reply.verdict !== "found") throw new Error(`The task is ${reply.verdict}`);
  return reply.snapshot;
}

const reaches = (address: TaskAddress, status: TaskSnapshot["status"]): Promise<TaskSnapshot> =>
  until(
    async () => {
      const snapshot = await read(address);
      return snapshot.status === status ? snapshot : undefined;
    },
    { what: `the task is ${status}` },
  );

const resultOf = (snapshot: TaskSnapshot): unknown => JSON.parse(snapshot.result ?? "null");

/** Holds a tool until the test lets it go on. */
function gate() {
  const begun = Promise.withResolvers<void>();
  const open = Promise.withResolvers<void>();
  return { begun, open };
}

const define = (run: (args: unknown, task: TaskContext) => Promise<string> | string): Tool =>
  defineTool({
    name: "tool",
    description: "For tests",
    taskSupport: "required",
    retry: { attempts: 3, backoff: 20 },
    run: async (args, task) => run(args, task),
  });

describe("a task on a real Redis", () => {
  test("runs to completion, and its result is whole", async () => {
    const tool = defineTool({
      name: "add",
      description: "Adds",
      input: z.object({ left: z.number(), right: z.number() }),
      output: z.object({ sum: z.number() }),
      taskSupport: "required",
      run: async ({ left, right }, task) => ({ sum: await task.step("add", () => left + right) }),
    });
    await startWorker(tool);
    const snapshot = await reaches(await createTask(tool, { left: 2, right: 40 }), "completed");
    expect(resultOf(snapshot)).toMatchObject({
      structuredContent: { sum: 42 },
      resultType: "complete",
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "perdure", version: "1.2.3" } },
    });
  });

  test("that waits for an answer holds no slot, and goes on with its finished steps read back", async () => {
    let steps = 0;
    const tool = define(async (_args, task) => {
      await task.step("once", () => void (steps += 1));
      const schema = z.object({ approved: z.boolean() });
      const answer = await task.elicit("approve", { message: "Approve?", schema });
      return answer.action === "accept" ? `approved: ${answer.content.approved}` : "no";
    });
    const { sample } = await startWorker(tool);
    const address = await createTask(tool);
    const asked = await reaches(address, "input_required");
    expect(JSON.parse(asked.inputRequests ?? "")).toHaveProperty("approve");
    await until(() => sample('perdure_tasks_running{role="worker"} 0'), { what: "the slot is free" });

    const response = JSON.stringify({ action: "accept", content: { approved: true } });
    const reply = await client.store.answer(address, [{ key: "approve", response }]);
    if (reply.verdict !== "accepted" || !reply.wakeUp) throw new Error(`Not accepted: ${reply.verdict}`);
    await client.wakeUps.send(reply.wakeUp);
    expect(resultOf(await reaches(address, "completed"))).toMatchObject({
      content: [{ text: "approved: true" }],
    });
    expect(steps).toBe(1);
  });

  test("that sleeps wakes by itself", async () => {
    const tool = define(async (_args, task) => {
      await task.sleep("nap", 300);
      return "awake";
    });
    await startWorker(tool);
    expect(resultOf(await reaches(await createTask(tool), "completed"))).toMatchObject({
      content: [{ text: "awake" }],
    });
  });

  test("whose tool throws is tried again, and its attempts are counted", async () => {
    const tool = define((_args, task) => {
      if (task.attempt < 3) throw new Error("flaky");
      return `attempt ${task.attempt}`;
    });
    await startWorker(tool);
    const snapshot = await reaches(await createTask(tool), "completed");
    expect(resultOf(snapshot)).toMatchObject({ content: [{ text: "attempt 3" }] });
  });

  test("that is cancelled has its run aborted, and never runs again", async () => {
    const { begun } = gate();
    const aborted = Promise.withResolvers<unknown>();
    let runs = 0;
    const tool = define(async (_args, task) => {
      runs += 1;
      task.signal.addEventListener("abort", () => aborted.resolve(task.signal.reason));
      begun.resolve();
      await aborted.promise;
      return "never";
    });
    await startWorker(tool);
    const address = await createTask(tool);
    await begun.promise;
    await client.store.cancel(address, "No longer needed");
    const reason = await aborted.promise;
    expect(reason).toBeInstanceOf(TaskStopped);
    expect(reason).toMatchObject({ reason: "cancelled" });
    expect(await read(address)).toMatchObject({ status: "cancelled", statusMessage: "No longer needed" });
    expect(runs).toBe(1);
  });

  test("whose wake-up was lost is run all the same", async () => {
    const tool = define(() => "found");
    const service = createTaskService({
      store: client.store,
      wakeUps: { send: () => Promise.reject(new Error("lost")) },
      onUnsentWakeUp: () => {},
    });
    const taskId = mintTaskId();
    await service.create({
      taskId,
      owner,
      scopes: [],
      method: "tools/call",
      params: JSON.stringify({ name: tool.name }),
      tool: tool.name,
      capabilities: "{}",
      ttlMs: 60_000,
      pollIntervalMs: 100,
    });
    const { sample } = await startWorker(tool);
    await reaches({ owner, taskId }, "completed");
    expect(await sample('perdure_reconciler_actions_total{action="requeued"')).toBe(true);
  });
});

describe("a worker on a real Redis", () => {
  test("that stalls is fenced: another finishes the task once, without repeating a finished step", async () => {
    const steps: string[] = [];
    const { begun, open } = gate();
    const toolOn = (name: string): Tool =>
      define(async (_args, task) => {
        await task.step("first", () => void steps.push(name));
        if (name === "stalled") {
          begun.resolve();
          await open.promise;
        }
        return `by the ${name} one`;
      });
    // A clock that stands still, as for a frozen process: no heartbeat goes out and no doubt comes up.
    const stalled = await startWorker(toolOn("stalled"), { clock: () => 0 });
    const address = await createTask(toolOn("stalled"));
    await begun.promise;
    await stalled.consumer.pause();

    await startWorker(toolOn("other"));
    const ended = await reaches(address, "completed");
    open.resolve();
    await until(() => stalled.sample('perdure_fenced_writes_total{reason="settled",role="worker"} 1'), {
      what: "the late commit is refused",
    });
    expect(steps).toEqual(["stalled"]);
    expect(resultOf(ended)).toMatchObject({ content: [{ text: "by the other one" }] });
    expect(await read(address)).toEqual(ended);
  });

  test("that is stopped gives its lease back within a second, and no attempt is counted", async () => {
    const { begun, open } = gate();
    const attempts: number[] = [];
    const tool = define(async (_args, task) => {
      attempts.push(task.attempt);
      if (attempts.length > 1) return "done elsewhere";
      begun.resolve();
      await open.promise;
      return "never";
    });
    const first = await startWorker(tool);
    const address = await createTask(tool);
    await begun.promise;
    const before = performance.now();
    await first.worker.stop();
    expect(performance.now() - before).toBeLessThan(1000);

    await startWorker(tool);
    expect(resultOf(await reaches(address, "completed"))).toMatchObject({
      content: [{ text: "done elsewhere" }],
    });
    expect(attempts).toEqual([1, 1]);
    open.resolve();
  });
});
