import { describe, expect, expectTypeOf, test, vi } from "vitest";
import { z } from "zod";
import { defineTool } from "./define-tool.ts";
import { TaskCancelled, ToolError } from "./errors.ts";
import { runToolInMemory } from "./run-tool-in-memory.ts";

const calls: string[] = [];
const report = defineTool({
  name: "generate_report",
  description: "Writes a report",
  input: z.object({ size: z.enum(["small", "large"]) }),
  output: z.object({ size: z.string(), approved: z.boolean() }),
  taskSupport: "required",
  async run({ size }, task) {
    await task.step("outline", () => void calls.push("outline"));
    await task.progress("Outline ready");
    const answer = await task.elicit("approve", {
      message: "Approve?",
      schema: z.object({ approved: z.boolean() }),
    });
    if (answer.action !== "accept") throw new TaskCancelled("The outline was refused");
    await task.step("write", () => void calls.push("write"));
    await task.progress("Written");
    return { size, approved: answer.content.approved };
  },
});
const approve = { action: "accept", content: { approved: true } };

test("a tool runs to its end with the answers, each step once", async () => {
  calls.length = 0;
  const run = await runToolInMemory(report, { size: "small" }, { answers: { approve } });
  expect(run).toEqual({
    status: "completed",
    isError: false,
    result: {
      content: [{ type: "text", text: '{"size":"small","approved":true}' }],
      structuredContent: { size: "small", approved: true },
    },
    structuredContent: { size: "small", approved: true },
    text: '{"size":"small","approved":true}',
    progress: ["Outline ready", "Written"],
    asked: [{ key: "approve", request: { method: "elicitation/create", params: expect.any(Object) } }],
    steps: ["outline", "write"],
    runs: 2,
    sleptMs: 0,
  });
  expect(calls).toEqual(["outline", "write"]);
  expectTypeOf(run.structuredContent).toEqualTypeOf<{ size: string; approved: boolean } | undefined>();
});

test("arguments are typed, and checked as a server would", async () => {
  // @ts-expect-error: no such size
  const run = await runToolInMemory(report, { size: "huge" });
  expect(run).toMatchObject({ status: "failed", error: { code: -32602 }, runs: 0 });
});

test("a worker that dies after a step changes nothing but the number of runs", async () => {
  calls.length = 0;
  const calm = await runToolInMemory(report, { size: "small" }, { answers: { approve } });
  const rough = await runToolInMemory(
    report,
    { size: "small" },
    { answers: { approve }, crashAfter: "write" },
  );
  expect(rough).toEqual({ ...calm, runs: calm.runs + 1 });
  expect(calls).toEqual(["outline", "write", "outline", "write"]);
});

test("a crash after a step that is never kept is a mistake, and says which steps there were", async () => {
  const run = runToolInMemory(report, { size: "small" }, { answers: { approve }, crashAfter: "wirte" });
  await expect(run).rejects.toThrow(
    'crashAfter names the step "wirte", which was never kept; the steps were: outline, write',
  );
});

test("an answer may be made from the request, later", async () => {
  const answer = vi.fn(async () => approve);
  await runToolInMemory(report, { size: "small" }, { answers: { approve: answer } });
  expect(answer).toHaveBeenCalledExactlyOnceWith({
    method: "elicitation/create",
    params: expect.objectContaining({ message: "Approve?" }),
  });
});

test("a question without an answer rejects, and names its key and the keys that there are", async () => {
  await expect(runToolInMemory(report, { size: "small" }, { answers: { aprove: approve } })).rejects.toThrow(
    'the tool asked "approve" and waits for an answer; options.answers has "aprove"',
  );
});

test("a refusal is cancelled with its reason", async () => {
  const run = await runToolInMemory(
    report,
    { size: "small" },
    { answers: { approve: { action: "decline" } } },
  );
  expect(run).toMatchObject({ status: "cancelled", reason: "The outline was refused" });
});

test("a client without the capability: the tool fails as it would in a server", async () => {
  const run = await runToolInMemory(report, { size: "small" }, { capabilities: {} });
  expect(run).toMatchObject({ status: "failed", error: { code: -32021 }, asked: [] });
});

describe("time", () => {
  const reminder = defineTool({
    name: "reminder",
    description: "Waits",
    async run(_args, task) {
      await task.sleep("a week", "7d");
      const answer = await Promise.race([
        task.elicit("still there", { message: "Still there?", schema: z.object({}) }),
        task.sleep("a day", "1d").then(() => "nobody"),
      ]);
      return typeof answer === "string" ? answer : answer.action;
    },
  });

  test("sleeps pass at once, by a clock that the result tells", async () => {
    const began = performance.now();
    const run = await runToolInMemory(reminder, {});
    expect(run).toMatchObject({ text: "nobody", sleptMs: 8 * 86_400_000 });
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  test("an answer comes before time does", async () => {
    const run = await runToolInMemory(reminder, {}, { answers: { "still there": { action: "accept" } } });
    expect(run).toMatchObject({ text: "accept", sleptMs: 7 * 86_400_000 });
  });
});

describe("failures", () => {
  const flaky = (failures: number) => {
    let left = failures;
    return defineTool({
      name: "flaky",
      description: "Fails at first",
      run: (_args, task) =>
        task.step("call", () => {
          if (left-- > 0) throw new Error("down");
          return `attempt ${task.attempt}`;
        }),
    });
  };

  test("a step that fails is tried again at once", async () => {
    expect(await runToolInMemory(flaky(2), {})).toMatchObject({ text: "attempt 3", runs: 3, sleptMs: 3_000 });
  });

  test("a step that fails for good is failed, and its cause is there to see", async () => {
    expect(await runToolInMemory(flaky(3), {})).toMatchObject({
      status: "failed",
      error: { code: -32603 },
      cause: { step: "call", message: "down" },
    });
  });

  test("a ToolError is a completed result that says isError", async () => {
    const tool = defineTool({ name: "t", description: "d", run: () => Promise.reject(new ToolError("No")) });
    expect(await runToolInMemory(tool, {})).toMatchObject({ status: "completed", isError: true, text: "No" });
  });

  test("a tool that asks for ever is ended", async () => {
    const tool = defineTool({
      name: "t",
      description: "d",
      async run(_args, task) {
        for (let round = 0; ; round++) await task.sleep(`round ${round}`, 1);
      },
    });
    await expect(runToolInMemory(tool, {})).rejects.toThrow("has paused 500 times");
  });

  test("an abort is stopped", async () => {
    const tool = defineTool({ name: "t", description: "d", run: () => new Promise<void>(() => {}) });
    const abort = new AbortController();
    const run = runToolInMemory(tool, {}, { signal: abort.signal });
    abort.abort();
    expect(await run).toMatchObject({ status: "stopped" });
  });
});

test("a preparation is run first, with the same answers, and its questions are no part of the task's replay", async () => {
  const tool = defineTool({
    name: "t",
    description: "d",
    async prepare(_args, call) {
      const answer = await call.elicit("name", { message: "Name?", schema: z.object({ name: z.string() }) });
      return answer.action === "accept" ? answer.content.name : "nobody";
    },
    async run(_args, task) {
      await task.progress(`Hello ${task.prepared}`);
      return task.prepared;
    },
  });
  const run = await runToolInMemory(
    tool,
    {},
    { answers: { name: { action: "accept", content: { name: "Alice" } } } },
  );
  expect(run).toMatchObject({ text: "Alice", runs: 1, progress: ["Hello Alice"], asked: [{ key: "name" }] });
});

test("a tool that starts at once, under fake timers, still comes to its end", async () => {
  vi.useFakeTimers();
  try {
    const run = await runToolInMemory(report, { size: "small" }, { answers: { approve } });
    expect(run.status).toBe("completed");
  } finally {
    vi.useRealTimers();
  }
});
