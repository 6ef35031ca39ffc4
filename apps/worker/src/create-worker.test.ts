import { createLog, createMetrics } from "@perdure/runtime";
import { TaskStoreError, type ClaimedTask, type Settlement, type WakeUp } from "@perdure/tasks";
import { defineTool, type Tool, type TaskContext } from "@perdure/toolkit";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { createWorker, type WorkerDeps } from "./create-worker.ts";
import {
  createFakeConsumer,
  createFakeDue,
  createFakeLeases,
  createFakeWakeUps,
  makeClaimedTask,
  wakeUpFor,
} from "./fake-ports.ts";
import { TaskStopped } from "./task-stopped.ts";

const LEASE_MS = 9000;

type Run = (args: unknown, task: TaskContext) => unknown;

function toolThat(run: Run, input?: z.ZodObject): Tool {
  return defineTool({
    name: "tool",
    description: "For tests",
    taskSupport: "required",
    ...(input ? { input } : {}),
    run: async (args, task) => JSON.stringify(await run(args, task)),
  });
}

/** The result or the error of a settlement. */
function bodyOf(settlement: Settlement | undefined): unknown {
  if (settlement?.status === "completed") return JSON.parse(settlement.result);
  return settlement?.status === "failed" ? JSON.parse(settlement.error) : undefined;
}

interface Options extends Partial<WorkerDeps> {
  readonly task?: Partial<ClaimedTask>;
  readonly tool?: Tool;
}

async function startWorker(run: Run, { task: given = {}, tool, ...deps }: Options = {}) {
  const task = makeClaimedTask(given);
  const leases = createFakeLeases(task);
  const wakeUps = createFakeWakeUps();
  const consumer = createFakeConsumer();
  const metrics = createMetrics({ role: "worker" });
  const lines: string[] = [];
  const served = tool ?? toolThat(run);
  const worker = createWorker({
    leases,
    due: createFakeDue(),
    wakeUps,
    consumer,
    catalog: {
      tools: new Map([[served.name, served]]),
      prompts: new Map(),
      resources: new Map(),
      resourceTemplates: new Map(),
    },
    log: createLog({ level: "debug", role: "worker", destination: { write: (line) => lines.push(line) } }),
    metrics,
    leaseMs: LEASE_MS,
    maxResultBytes: 10_000,
    drainMs: 5000,
    serverInfo: { name: "perdure", version: "1.2.3" },
    ...deps,
  });
  await worker.start();
  const sample = async (name: string): Promise<string | undefined> =>
    (await metrics.render()).split("\n").find((line) => line.startsWith(name));
  return {
    worker,
    leases,
    wakeUps,
    consumer,
    task,
    lines,
    sample,
    deliver: () => consumer.deliver(wakeUpFor(task)),
  };
}

const away = (): Promise<never> => Promise.reject(new TaskStoreError("store_unavailable", "Redis is away"));
const unknownOutcome = (): Promise<never> =>
  Promise.reject(new TaskStoreError("store_unknown_outcome", "The reply was lost"));
const never = (): Promise<never> => new Promise(() => {});

/** A tool that runs until its signal is aborted, and why it was. */
function waiting() {
  const seen: { reason?: string } = {};
  const run: Run = (_args, task) =>
    new Promise((_resolve, reject) => {
      const onAbort = (): void => {
        const reason: unknown = task.signal.reason;
        seen.reason = reason instanceof TaskStopped ? reason.reason : String(reason);
        reject(reason);
      };
      task.signal.addEventListener("abort", onAbort);
      if (task.signal.aborted) onAbort();
    });
  return { seen, run };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a wake-up", () => {
  test("runs the tool and commits a whole result: the tool's, resultType and the server's identity", async () => {
    const { leases, deliver, sample } = await startWorker(() => ({ hello: "world" }));
    await deliver();
    expect(leases.calls).toEqual(["claim", "settle"]);
    const [settlement] = leases.settled;
    expect(settlement?.status).toBe("completed");
    expect(bodyOf(settlement)).toMatchObject({
      content: [{ type: "text" }],
      resultType: "complete",
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "perdure", version: "1.2.3" } },
    });
    expect(await sample("perdure_task_transitions_total")).toContain('to="completed",role="worker"} 1');
    expect(await sample("perdure_tasks_running")).toContain("} 0");
  });

  test("whose claim ends a silent worker's lease is counted as a takeover, and no other is", async () => {
    const { leases, task, deliver, sample, lines } = await startWorker(() => "ok");
    await deliver();
    expect(await sample("perdure_lease_takeovers_total")).toContain("} 0");
    leases.script.claim.push(() => Promise.resolve({ verdict: "claimed", task, tookOver: true }));
    await deliver();
    expect(await sample("perdure_lease_takeovers_total")).toContain("} 1");
    expect(lines.join("")).toContain("A lease ended without a word from its worker");
  });

  test.each(["held", "parked", "terminal", "overdue", "unknown"] as const)(
    "for a task that is %s does nothing",
    async (verdict) => {
      const run = vi.fn();
      const { leases, deliver } = await startWorker(run);
      leases.script.claim.push(() => Promise.resolve({ verdict }));
      await deliver();
      expect(run).not.toHaveBeenCalled();
      expect(leases.calls).toEqual(["claim"]);
    },
  );

  test("while the store is away is dropped without harm", async () => {
    const { leases, deliver, lines } = await startWorker(() => "never");
    leases.script.claim.push(away);
    await deliver();
    expect(lines.join("")).toContain("could not be advanced");
  });

  test("gives the tool its arguments, its caller, its attempt and its journal", async () => {
    const seen: unknown[] = [];
    const tool = toolThat(
      async (args, task) => {
        seen.push(args, task.caller, task.attempt, task.id, await task.step("done", () => "again"));
        return "ok";
      },
      z.object({ size: z.number() }),
    );
    const steps = new Map<string, string>();
    const { task, deliver, leases } = await startWorker(() => "", {
      tool,
      task: {
        params: JSON.stringify({ name: "tool", arguments: { size: 3 }, _meta: {} }),
        scopes: ["mcp:tools"],
        attempt: 4,
        journal: { ...makeClaimedTask().journal, steps },
      },
    });
    await deliver();
    const caller = { tenant: "acme", principal: "alice", scopes: ["mcp:tools"] };
    expect(seen).toEqual([{ size: 3 }, caller, 4, task.claim.ref.taskId, "again"]);
    expect([...leases.steps.keys()]).toEqual(["done"]);
  });

  test("whose stored call cannot be read fails its task, and so does one whose arguments are refused", async () => {
    const torn = await startWorker(() => "ok", { task: { params: '{"name":' } });
    await torn.deliver();
    expect(torn.leases.settled).toMatchObject([
      { status: "failed", statusMessage: "The stored call cannot be read" },
    ]);
    const tool = toolThat(() => "ok", z.object({ size: z.number() }));
    const refused = await startWorker(() => "", { tool });
    await refused.deliver();
    expect(bodyOf(refused.leases.settled[0])).toMatchObject({
      code: -32602,
    });
  });

  test("logs ids, the tool and the epoch, and never arguments", async () => {
    const { deliver, lines, task } = await startWorker(() => "ok", {
      task: { params: JSON.stringify({ name: "tool", arguments: { card: "4111-1111" } }) },
    });
    await deliver();
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({
      taskId: task.claim.ref.taskId,
      tool: "tool",
      epoch: 1,
    });
    expect(lines.join("")).not.toContain("4111");
  });
});

describe("a tool that this worker does not have", () => {
  test("is waited for, in case another worker has it, without counting an attempt", async () => {
    const { leases, deliver } = await startWorker(() => "ok", { task: { tool: "new_tool" } });
    await deliver();
    expect(leases.parked).toEqual([
      { requests: [], sleeps: [{ name: "perdure:unknown-tool:1", durationMs: 2000 }] },
    ]);
    expect(leases.messages).toEqual(['Waiting for a worker that has the tool "new_tool"']);
  });

  test("fails the task after several tries", async () => {
    const sleeps = new Map(Array.from({ length: 7 }, (_, i) => [`perdure:unknown-tool:${i + 1}`, 1]));
    const journal = { ...makeClaimedTask().journal, sleeps };
    const { leases, deliver } = await startWorker(() => "ok", { task: { tool: "new_tool", journal } });
    await deliver();
    expect(leases.settled).toMatchObject([
      { status: "failed", statusMessage: 'No worker has the tool "new_tool"' },
    ]);
  });
});

describe("a lease", () => {
  test("is kept by heartbeats at a third of it, and by none after the end", async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const { leases, deliver } = await startWorker(() => promise);
    const delivered = deliver();
    await vi.advanceTimersByTimeAsync(LEASE_MS * 5);
    expect(leases.calls.filter((call) => call === "heartbeat")).toHaveLength(15);
    resolve("ok");
    await delivered;
    await vi.advanceTimersByTimeAsync(LEASE_MS * 5);
    expect(leases.calls.filter((call) => call === "heartbeat")).toHaveLength(15);
    expect(leases.settled).toMatchObject([{ status: "completed" }]);
  });

  test.each([
    ["fail", away],
    ["are never answered", never],
  ])("whose heartbeats %s is believed for 0.8 of it and no longer", async (_how, heartbeat) => {
    const { seen, run } = waiting();
    const { leases, deliver } = await startWorker(run);
    leases.script.heartbeat.push(...Array.from({ length: 1000 }, () => heartbeat));
    const delivered = deliver();
    await vi.advanceTimersByTimeAsync(LEASE_MS * 0.8 - 50);
    expect(seen.reason).toBeUndefined();
    await vi.advanceTimersByTimeAsync(100);
    expect(seen.reason).toBe("lease lost");
    await delivered;
    expect(new Set(leases.calls)).toEqual(new Set(["claim", "heartbeat"]));
  });

  test("belief counts from when a heartbeat was sent, not from its late reply", async () => {
    const { seen, run } = waiting();
    const { leases, deliver } = await startWorker(run);
    const { promise, resolve } = Promise.withResolvers<{ verdict: "done" }>();
    leases.script.heartbeat.push(
      () => promise,
      away,
      away,
      away,
      away,
      away,
      away,
      away,
      away,
      away,
      away,
      away,
    );
    leases.script.heartbeat.push(...Array.from({ length: 100 }, () => away));
    const delivered = deliver();
    await vi.advanceTimersByTimeAsync(LEASE_MS * 0.7);
    resolve({ verdict: "done" });
    await vi.advanceTimersByTimeAsync(LEASE_MS * (1 / 3 + 0.8 - 0.7) - 50);
    expect(seen.reason).toBeUndefined();
    await vi.advanceTimersByTimeAsync(100);
    expect(seen.reason).toBe("lease lost");
    await delivered;
  });

  test("a heartbeat that fails once is sent again and the run goes on", async () => {
    const { seen, run } = waiting();
    const { leases, deliver, worker } = await startWorker(run);
    leases.script.heartbeat.push(away);
    const delivered = deliver();
    await vi.advanceTimersByTimeAsync(LEASE_MS * 3);
    expect(seen.reason).toBeUndefined();
    void worker.stop();
    await vi.advanceTimersByTimeAsync(1000);
    await delivered;
  });

  test.each([
    ["cancelled", "cancelled"],
    ["expired", "expired"],
    ["taken", "lease lost"],
    ["gone", "lease lost"],
  ] as const)(
    "a heartbeat refused as %s aborts the run, and nothing more is written",
    async (reason, told) => {
      const { seen, run } = waiting();
      const { leases, deliver, sample } = await startWorker(run);
      leases.script.heartbeat.push(() => Promise.resolve({ verdict: "fenced", reason }));
      const delivered = deliver();
      await vi.advanceTimersByTimeAsync(LEASE_MS);
      await delivered;
      expect(seen.reason).toBe(told);
      expect(leases.calls).toEqual(["claim", "heartbeat"]);
      expect(await sample("perdure_fenced_writes_total")).toContain(`reason="${reason}",role="worker"} 1`);
    },
  );

  test("a tool that ignores its signal holds no slot once the task is lost", async () => {
    const { leases, deliver } = await startWorker(never);
    leases.script.heartbeat.push(() => Promise.resolve({ verdict: "fenced", reason: "taken" }));
    const delivered = deliver();
    await vi.advanceTimersByTimeAsync(LEASE_MS / 3 + 10);
    await delivered;
    expect(leases.calls).toEqual(["claim", "heartbeat"]);
  });
});

describe("a step", () => {
  test("whose record is refused is the last of its run", async () => {
    const began: string[] = [];
    const { leases, deliver } = await startWorker(async (_args, task) => {
      for (const name of ["one", "two"]) await task.step(name, () => void began.push(name));
    });
    leases.script.recordStep.push(() => Promise.resolve({ verdict: "fenced", reason: "taken" }));
    await deliver();
    expect(began).toEqual(["one"]);
    expect(leases.calls).toEqual(["claim", "recordStep"]);
  });

  test("is recorded as soon as the store is back, and the run goes on", async () => {
    const { leases, deliver } = await startWorker((_args, task) => task.step("one", () => 1));
    leases.script.recordStep.push(away, unknownOutcome, away);
    const delivered = deliver();
    await vi.advanceTimersByTimeAsync(1000);
    await delivered;
    expect(leases.steps.size).toBe(1);
    expect(leases.settled).toMatchObject([{ status: "completed" }]);
  });

  test("whose value is too large fails the task and is named", async () => {
    const { leases, deliver } = await startWorker((_args, task) =>
      task.step("big", () => "x".repeat(300_000)),
    );
    await deliver();
    expect(leases.settled).toMatchObject([{ status: "failed" }]);
    expect(leases.settled[0]?.statusMessage).toMatch(
      /The value of step "big" has \d+ bytes; the limit is 262144/,
    );
  });
});

describe("progress", () => {
  test("is written as the latest message, at most four times a second, and whole before the end", async () => {
    const { leases, deliver } = await startWorker(async (_args, task) => {
      for (let i = 1; i <= 100; i += 1) {
        await task.progress(`${i} of 100`);
        await task.step(`step ${i}`, () => new Promise<void>((resolve) => setTimeout(resolve, 10)));
      }
      await task.progress("Nearly there");
    });
    const delivered = deliver();
    await vi.advanceTimersByTimeAsync(2000);
    await delivered;
    expect(leases.messages[0]).toBe("1 of 100");
    expect(leases.messages.at(-1)).toBe("Nearly there");
    expect(leases.messages.length).toBeGreaterThan(3);
    expect(leases.messages.length).toBeLessThanOrEqual(6);
    expect(leases.calls.slice(-2)).toEqual(["progress", "settle"]);
  });

  test("that cannot be written harms nothing; that is refused stops the run", async () => {
    const failing = await startWorker(async (_args, task) => task.progress("one"));
    failing.leases.script.progress.push(away);
    await failing.deliver();
    expect(failing.leases.settled).toMatchObject([{ status: "completed" }]);

    const { seen, run } = waiting();
    const refused = await startWorker(async (args, task) => {
      await task.progress("one");
      return run(args, task);
    });
    refused.leases.script.progress.push(() => Promise.resolve({ verdict: "fenced", reason: "cancelled" }));
    await refused.deliver();
    expect(seen.reason).toBe("cancelled");
    expect(refused.leases.calls).toEqual(["claim", "progress"]);
  });
});

describe("an end", () => {
  test("with a result over the limit fails the task and names both sizes", async () => {
    const { leases, deliver } = await startWorker(() => "x".repeat(20_000));
    await deliver();
    expect(leases.settled[0]?.status).toBe("failed");
    expect(leases.settled[0]?.statusMessage).toMatch(
      /^The tool's result has 2\d{4} bytes; the limit is 10000 \(PERDURE_MAX_RESULT_BYTES\)$/,
    );
    expect(bodyOf(leases.settled[0])).toMatchObject({ code: -32603 });
  });

  test("is committed when the store is back", async () => {
    const { leases, deliver, sample } = await startWorker(() => "ok");
    leases.script.settle.push(away, away, away);
    const delivered = deliver();
    await vi.advanceTimersByTimeAsync(2000);
    await delivered;
    expect(leases.calls.filter((call) => call === "settle")).toHaveLength(4);
    expect(await sample("perdure_task_transitions_total")).toContain("} 1");
  });

  test("whose reply was lost is taken as done when the second try is refused", async () => {
    const { leases, deliver, sample, lines } = await startWorker(() => "ok");
    leases.script.settle.push(unknownOutcome, () =>
      Promise.resolve({ verdict: "fenced", reason: "settled" }),
    );
    const delivered = deliver();
    await vi.advanceTimersByTimeAsync(1000);
    await delivered;
    expect(await sample("perdure_fenced_writes_total")).toBeUndefined();
    expect(lines.join("")).toContain("The write was done before its reply was lost");
  });

  test("is given up when the store stays away for as long as the lease is believed", async () => {
    const { leases, deliver } = await startWorker(() => "ok");
    leases.script.settle.push(...Array.from({ length: 1000 }, () => away));
    leases.script.heartbeat.push(...Array.from({ length: 1000 }, () => away));
    const delivered = deliver();
    await vi.advanceTimersByTimeAsync(LEASE_MS);
    await delivered;
    expect(leases.settled.length).toBeLessThan(20);
  });

  test("by an error is tried again later by the tool's policy, and the wake-up is sent when there is one", async () => {
    const wakeUp: WakeUp = { ref: makeClaimedTask().claim.ref, wake: 2, epoch: 1 };
    const { leases, deliver, wakeUps } = await startWorker(() => {
      throw new Error("flaky");
    });
    leases.script.release.push(() => Promise.resolve({ verdict: "released", wakeUp }));
    await deliver();
    expect(leases.released).toMatchObject([{ reason: "retry", failed: "", delayMs: 1000 }]);
    expect(wakeUps.sent).toEqual([wakeUp]);
  });

  test("a wake-up that cannot be sent is logged and nothing else", async () => {
    const wakeUp: WakeUp = { ref: makeClaimedTask().claim.ref, wake: 2, epoch: 1 };
    const { leases, deliver, lines } = await startWorker((_args, task) => task.sleep("nap", "1m"), {
      wakeUps: createFakeWakeUps(new Error("no queue")),
    });
    leases.script.park.push(() => Promise.resolve({ verdict: "parked", wakeUp }));
    await deliver();
    expect(lines.join("")).toContain("the reconciler will send it");
  });

  test("a question under a key that meant another question fails the task and names the key", async () => {
    const { leases, deliver } = await startWorker((_args, task) => task.sleep("nap", "1m"));
    leases.script.park.push(() => Promise.resolve({ verdict: "conflict", key: "approve" }));
    await deliver();
    expect(leases.settled[0]?.statusMessage).toContain('"approve"');
  });
});

describe("a stop", () => {
  test("gives a running task back within a second, counts no attempt, and wakes another worker", async () => {
    const wakeUp: WakeUp = { ref: makeClaimedTask().claim.ref, wake: 2, epoch: 1 };
    const { seen, run } = waiting();
    const { worker, leases, deliver, wakeUps, consumer } = await startWorker(run);
    leases.script.release.push(() => Promise.resolve({ verdict: "released", wakeUp }));
    const delivered = deliver();
    await vi.advanceTimersByTimeAsync(100);
    const stopped = worker.stop();
    expect(worker.problems()).toEqual(["The worker is stopping"]);
    await vi.advanceTimersByTimeAsync(999);
    await Promise.all([delivered, stopped]);
    expect(seen.reason).toBe("shutdown");
    expect(leases.released).toEqual([{ reason: "shutdown" }]);
    expect(wakeUps.sent).toEqual([wakeUp]);
    expect(consumer.events).toEqual(["start", "pause", "stop"]);
  });

  test("does not wait for a tool that ignores its signal", async () => {
    const { worker, leases, deliver } = await startWorker(never);
    void deliver();
    const stopped = worker.stop();
    await vi.advanceTimersByTimeAsync(999);
    await stopped;
    expect(leases.released).toEqual([{ reason: "shutdown" }]);
  });

  test("lets a run that is about to end do so", async () => {
    const { worker, leases, deliver } = await startWorker((_args, task) =>
      task.step("short", () => new Promise<string>((resolve) => setTimeout(resolve, 200, "ok"))),
    );
    void deliver();
    const stopped = worker.stop();
    await vi.advanceTimersByTimeAsync(300);
    await stopped;
    expect(leases.calls).toEqual(["claim", "recordStep", "settle"]);
  });

  test("gives back what was claimed meanwhile, without running it", async () => {
    const run = vi.fn();
    const { worker, leases, deliver } = await startWorker(run);
    const stopped = worker.stop();
    await vi.advanceTimersByTimeAsync(1000);
    await stopped;
    await deliver();
    expect(run).not.toHaveBeenCalled();
    expect(leases.calls).toEqual(["claim", "release"]);
  });

  test("of a task that was cancelled meanwhile writes nothing", async () => {
    const { worker, leases, deliver } = await startWorker(never);
    leases.script.release.push(() => Promise.resolve({ verdict: "fenced", reason: "cancelled" }));
    void deliver();
    const stopped = worker.stop();
    await vi.advanceTimersByTimeAsync(1000);
    await stopped;
    expect(leases.calls).toEqual(["claim", "release"]);
  });

  test("can be asked for twice, and leaves no timer", async () => {
    const { worker } = await startWorker(() => "ok");
    const stops = [worker.stop(), worker.stop()];
    await vi.advanceTimersByTimeAsync(1000);
    await Promise.all(stops);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("a worker says why it takes no tasks", async () => {
  const consumer = { ...createFakeConsumer(), isAlive: () => false };
  const { worker } = await startWorker(() => "ok", { consumer });
  expect(worker.problems()).toEqual(["The worker receives no wake-ups"]);
});

test("two workers in one process run their own tasks", async () => {
  const [left, right] = [await startWorker(() => "left"), await startWorker(() => "right")];
  await Promise.all([left.deliver(), right.deliver()]);
  expect(left.leases.settled[0]).toMatchObject({ result: expect.stringContaining("left") });
  expect(right.leases.settled[0]).toMatchObject({ result: expect.stringContaining("right") });
});
