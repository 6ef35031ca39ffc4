import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { defineTool } from "./define-tool.ts";
import { MissingCapability, ProtocolError, StepFailed, TaskCancelled, ToolError } from "./errors.ts";
import { createFakeHost, untyped } from "./fake-host.ts";
import type { RunHost } from "./run-host.ts";
import { runTool } from "./run-tool.ts";
import type { TaskContext } from "./task-context.ts";
import type { RetryPolicy, Tool } from "./tool.ts";

type Body = (task: TaskContext) => unknown;
const toolOf = (run: Body, retry: Partial<RetryPolicy> = {}): Tool =>
  defineTool({ name: "t", description: "d", retry, run: (_args, task) => untyped(run(task)) });
const outcomeOf = (run: Body, host: RunHost = createFakeHost().host, retry: Partial<RetryPolicy> = {}) =>
  runTool(toolOf(run, retry), {}, host);
const text = (text: string) => ({ kind: "completed", result: { content: [{ type: "text", text }] } });

describe("steps", () => {
  test("a step that is in the journal is not done again; its value is read back", async () => {
    const { host, journal } = createFakeHost();
    const fn = vi.fn(() => ({ lines: ["a", "b"] }));
    const run: Body = async (task) => (await task.step("outline", fn)).lines.join();
    expect(await outcomeOf(run, host)).toEqual(text("a,b"));
    expect(journal.steps.get("outline")).toBe('{"ok":{"lines":["a","b"]}}');
    expect(await outcomeOf(run, host)).toEqual(text("a,b"));
    expect(fn).toHaveBeenCalledTimes(1);
  });

  test("a step that returns nothing is kept too", async () => {
    const { host, journal } = createFakeHost();
    const fn = vi.fn(() => {});
    const run: Body = async (task) => String(await task.step("send", fn));
    expect(await outcomeOf(run, host)).toEqual(text("undefined"));
    expect(journal.steps.get("send")).toBe("{}");
    expect(await outcomeOf(run, host)).toEqual(text("undefined"));
    expect(fn).toHaveBeenCalledTimes(1);
  });

  test("the first run sees the value as a replay will, not the object that the step still holds", async () => {
    const held = { count: 1, gone: undefined };
    const run: Body = async (task) => {
      const value = await task.step("s", () => held);
      held.count = 2;
      return value;
    };
    expect(await outcomeOf(run)).toMatchObject({ result: { structuredContent: { count: 1 } } });
  });

  test("a value is delivered only once it was kept", async () => {
    const order: string[] = [];
    const { host } = createFakeHost({
      recordStep: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        order.push("kept");
      },
    });
    await outcomeOf(async (task) => {
      await task.step("s", () => 1);
      order.push("delivered");
    }, host);
    expect(order).toEqual(["kept", "delivered"]);
  });

  test.each([
    ["a function", () => () => 1, "the value is a function"],
    ["a bigint", () => ({ rows: [1n] }), "the value.rows[0] is a bigint"],
    ["a Map", () => ({ m: new Map() }), "the value.m is a Map, no plain object"],
    ["NaN", () => NaN, "the value is NaN"],
  ])("a step that returns %s fails the run with the step's name", async (_name, fn, problem) => {
    const { host, journal } = createFakeHost();
    expect(await outcomeOf((task) => task.step("odd", untyped(fn)), host)).toMatchObject({
      kind: "failed",
      error: { code: -32603, message: `The step "odd" returned what JSON cannot keep: ${problem}` },
    });
    expect(journal.steps.size).toBe(0);
  });

  test("a step that cannot be kept stops the run", async () => {
    const after = vi.fn();
    const { host } = createFakeHost({ recordStep: () => Promise.reject(new Error("fenced")) });
    const outcome = await outcomeOf(async (task) => {
      await task.step("s", () => 1);
      after();
    }, host);
    expect(outcome).toEqual({ kind: "stopped" });
    await new Promise((resolve) => setImmediate(resolve));
    expect(after).not.toHaveBeenCalled();
  });

  test("steps that are awaited together run together", async () => {
    let running = 0;
    let most = 0;
    const one = async (): Promise<number> => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      return running--;
    };
    await outcomeOf((task) => Promise.all(["a", "b", "c"].map((name) => task.step(name, one))));
    expect(most).toBe(3);
  });
});

describe("names", () => {
  test.each<[string, Body, string]>([
    [
      "a step name twice",
      (t) => t.step("a", () => 1).then(() => t.step("a", () => 2)),
      "The step name \"a\" was used twice; it must be unique within a task's life: put the loop's index in the name",
    ],
    ["an input key twice", (t) => Promise.all([t.roots("k"), t.roots("k")]), 'The key "k" was used twice'],
    [
      "a sleep name twice",
      (t) => Promise.all([t.sleep("n", 1), t.sleep("n", 1)]),
      'The sleep name "n" was used twice',
    ],
    ["no name", (t) => t.step("", () => 1), "A step name must be a text that is not empty"],
    ["a name that is no text", (t) => t.step(untyped(7), () => 1), "A step name must be a text"],
    ["a name that is too long", (t) => t.step("x".repeat(257), () => 1), "has 257 characters; 256 at most"],
    ["a control character", (t) => t.step("a\nb", () => 1), 'The step name "a\\nb" has a control character'],
  ])("%s fails the run, and the message says what to do", async (_name, run, message) => {
    expect(await outcomeOf(run)).toMatchObject({
      kind: "failed",
      error: { code: -32603, message: expect.stringContaining(message) },
    });
  });

  test("the tool cannot catch a broken rule and go on", async () => {
    const outcome = await outcomeOf(async (task) => {
      await task.step("a", () => 1);
      await task.step("a", () => 1).catch(() => "caught");
      return "went on";
    });
    expect(outcome).toMatchObject({ kind: "failed" });
  });

  test("a step, a question and a sleep may share a name, and 256 characters are fine", async () => {
    const { host, accept } = createFakeHost();
    const name = "n".repeat(256);
    accept(name, {});
    const outcome = await outcomeOf(async (task) => {
      await task.step(name, () => 1);
      await task.elicit(name, { message: "m", schema: z.object({}) });
      await task.sleep(name, 0);
      return "ok";
    }, host);
    expect(outcome).toEqual(text("ok"));
  });

  test.each<[string, Body]>([
    ['step("inner")', (t) => t.step("outer", () => t.step("inner", () => 1))],
    ['sleep("inner")', (t) => t.step("outer", () => t.sleep("inner", 1))],
    ['roots("inner")', (t) => t.step("outer", async () => void (await t.roots("inner")))],
  ])("%s inside a step fails the run instead of hanging", async (method, run) => {
    expect(await outcomeOf(run)).toMatchObject({
      error: { message: `${method} was called inside the step "outer"; call it outside of steps` },
    });
  });

  test("progress and log are fine inside a step", async () => {
    const { host, said, logged } = createFakeHost();
    await outcomeOf(
      (task) =>
        task.step("s", async () => {
          await task.progress("half");
          task.log("info", "hello");
        }),
      host,
    );
    expect([said, logged]).toEqual([["half"], ["info hello"]]);
  });
});

describe("failing steps", () => {
  const boom: Body = (task) =>
    task.step("call", () => {
      throw new Error("secret host is down");
    });

  test("a failing step is tried again after a wait that doubles, up to a minute", async () => {
    const { host, journal } = createFakeHost();
    const delays: unknown[] = [];
    for (let failures = 0; failures < 8; failures++) {
      const outcome = await outcomeOf(boom, host, { attempts: 100, backoff: "1s" });
      expect(outcome).toMatchObject({
        kind: "retry",
        failed: "call",
        message: 'The step "call" failed and will be tried again',
        cause: new Error("secret host is down"),
      });
      delays.push(outcome.kind === "retry" && outcome.delayMs);
      journal.failures.set("call", failures + 1);
    }
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    expect(journal.steps.size).toBe(0);
  });

  test("a step that has used up its attempts rejects, and a replay rejects alike without calling it", async () => {
    const { host, journal } = createFakeHost();
    journal.failures.set("call", 2);
    const fn = vi.fn(() => {
      throw new Error("down");
    });
    const run: Body = async (task) => {
      try {
        return await task.step("call", fn);
      } catch (error) {
        return error instanceof StepFailed ? `${error.code} ${error.step} ${error.message}` : "other";
      }
    };
    expect(await outcomeOf(run, host)).toEqual(text("perdure_step_failed call down"));
    expect(journal.steps.get("call")).toBe('{"error":{"message":"down"}}');
    expect(await outcomeOf(run, host)).toEqual(text("perdure_step_failed call down"));
    expect(fn).toHaveBeenCalledTimes(1);
  });

  test("a step's failure that nobody catches ends the tool at once, since it would be read back for ever", async () => {
    const { host, journal } = createFakeHost();
    journal.failures.set("call", 2);
    const outcome = await outcomeOf(boom, host);
    expect(outcome).toMatchObject({
      kind: "failed",
      error: { code: -32603, message: 'The tool failed: its step "call" did not succeed' },
    });
    expect(JSON.stringify(outcome.kind === "failed" && outcome.error)).not.toContain("secret");
  });

  test("a step that throws on purpose is not tried again, and a replay throws the same", async () => {
    const { host } = createFakeHost();
    const fn = vi.fn(() => {
      throw new ProtocolError(-32000 - 999, "No such account", { account: 7 });
    });
    const run: Body = async (task) => {
      try {
        return await task.step("look up", fn);
      } catch (error) {
        return error instanceof ProtocolError
          ? JSON.stringify([error.rpcCode, error.message, error.data])
          : "other";
      }
    };
    const expected = text('[-32999,"No such account",{"account":7}]');
    expect(await outcomeOf(run, host)).toEqual(expected);
    expect(await outcomeOf(run, host)).toEqual(expected);
    expect(fn).toHaveBeenCalledTimes(1);
  });

  test.each([
    new ToolError("shipped"),
    new TaskCancelled("called off"),
    new MissingCapability("no", { roots: {} }),
  ])("%s thrown in a step reaches the tool now and in every replay", async (error) => {
    const { host, journal } = createFakeHost();
    const caught: string[] = [];
    const run: Body = async (task) => {
      try {
        await task.step("s", () => {
          throw error;
        });
      } catch (thrown) {
        caught.push(JSON.stringify([String(thrown), thrown]));
      }
    };
    await outcomeOf(run, host);
    await outcomeOf(run, host);
    expect(journal.steps.size).toBe(1);
    expect(caught[1]).toEqual(caught[0]);
  });

  test("a failed step that the tool left alone is no unhandled rejection", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    const run: Body = async (task) => {
      void task.step("left alone", () => Promise.reject(new Error("down")));
      return task.step("other", async () => {
        for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
        return "fine";
      });
    };
    expect(await outcomeOf(run, undefined, { attempts: 1 })).toEqual(text("fine"));
    expect(unhandled).not.toHaveBeenCalled();
  });

  test("what other steps have in hand is kept before the run ends to try a failed one again", async () => {
    const { host, journal } = createFakeHost();
    let finish = (): void => {};
    const slow = new Promise<string>((resolve) => {
      finish = () => resolve("done");
    });
    const after = vi.fn();
    const outcome = outcomeOf(async (task) => {
      await Promise.allSettled([
        task.step("bad", () => Promise.reject(new Error("x"))),
        task.step("slow", () => slow).then(after),
      ]);
      after();
    }, host);
    await new Promise((resolve) => setImmediate(resolve));
    finish();
    expect(await outcome).toMatchObject({ kind: "retry", failed: "bad" });
    expect([...journal.steps]).toEqual([["slow", '{"ok":"done"}']]);
    expect(after).not.toHaveBeenCalled();
  });
});

describe("how a tool ends", () => {
  test("a ToolError is a completed result that says isError", async () => {
    expect(await outcomeOf(() => Promise.reject(new ToolError("No such file")))).toEqual({
      kind: "completed",
      result: { content: [{ type: "text", text: "No such file" }], isError: true },
    });
  });

  test("a ProtocolError is failed with its code, message and data", async () => {
    const error = new ProtocolError(-32602, "Bad range", { max: 7 });
    expect(await outcomeOf(() => Promise.reject(error))).toEqual({
      kind: "failed",
      error: { code: -32602, message: "Bad range", data: { max: 7 } },
      cause: error,
    });
  });

  test("TaskCancelled is cancelled, with its reason", async () => {
    const outcome = await outcomeOf(() => Promise.reject(new TaskCancelled("The outline was refused")));
    expect(outcome).toEqual({ kind: "cancelled", reason: "The outline was refused" });
  });

  test("MissingCapability is failed with -32021 and what is required", async () => {
    const error = new MissingCapability("No elicitation", { elicitation: {} });
    expect(await outcomeOf(() => Promise.reject(error))).toMatchObject({
      kind: "failed",
      error: { code: -32021, message: "No elicitation", data: { requiredCapabilities: { elicitation: {} } } },
    });
  });

  test("errors are known by code: those of another copy of the package count", async () => {
    const error = Object.assign(new Error("from afar"), { code: "perdure_tool_error" });
    expect(await outcomeOf(() => Promise.reject(error))).toMatchObject({
      kind: "completed",
      result: { isError: true },
    });
  });

  test("any other error is tried again, and then failed without its text", async () => {
    const { host, journal } = createFakeHost();
    const run: Body = () => {
      throw new Error("password=hunter2");
    };
    expect(await outcomeOf(run, host)).toMatchObject({ kind: "retry", failed: "", delayMs: 1_000 });
    journal.failures.set("", 2);
    const outcome = await outcomeOf(run, host);
    expect(outcome).toEqual({
      kind: "failed",
      error: { code: -32603, message: "The tool failed" },
      cause: new Error("password=hunter2"),
    });
  });

  test.each([undefined, null, "text", 7, { code: "ENOENT" }])(
    "throwing %j is an error like any other",
    async (thrown) => {
      expect(await outcomeOf(() => Promise.reject(thrown), undefined, { attempts: 1 })).toMatchObject({
        kind: "failed",
        error: { code: -32603, message: "The tool failed" },
      });
    },
  );

  test("a result that breaks the output schema is failed, with the path and without the value", async () => {
    const tool = defineTool({
      name: "t",
      description: "d",
      output: z.object({ ok: z.boolean() }),
      run: () => untyped({ ok: "s3cret" }),
    });
    expect(await runTool(tool, {}, createFakeHost().host)).toEqual({
      kind: "failed",
      error: {
        code: -32603,
        message:
          "The tool's result does not match its output schema: structuredContent.ok: Invalid input: expected boolean, received string",
      },
    });
  });

  test("arguments are validated before the function is called, and it gets them parsed", async () => {
    const run = vi.fn(({ n }: { n: number }) => `${n + 1}`);
    const tool = defineTool({ name: "t", description: "d", input: z.object({ n: z.int().default(1) }), run });
    expect(await runTool(tool, { n: "1" }, createFakeHost().host)).toEqual({
      kind: "failed",
      error: {
        code: -32602,
        message: "Invalid arguments: n: Invalid input: expected number, received string",
      },
    });
    expect(run).not.toHaveBeenCalled();
    expect(await runTool(tool, undefined, createFakeHost().host)).toEqual(text("2"));
  });

  test("the context tells who calls, which task and which attempt", async () => {
    const { host } = createFakeHost({ attempt: 3 });
    const run: Body = ({ id, attempt, caller }) => JSON.stringify({ id, attempt, caller });
    expect(await outcomeOf(run, host)).toEqual(
      text('{"id":"task-1","attempt":3,"caller":{"tenant":"acme","principal":"alice","scopes":["reports"]}}'),
    );
  });
});

describe("stopping", () => {
  test("an abort ends the run at once, even when the tool does not listen", async () => {
    const { host, abort } = createFakeHost();
    const outcome = outcomeOf(() => new Promise(() => {}), host);
    abort.abort(new Error("lease lost"));
    expect(await outcome).toEqual({ kind: "stopped" });
  });

  test("an abort before the start: the function is not even called", async () => {
    const { host, abort } = createFakeHost();
    abort.abort();
    const run = vi.fn();
    expect(await outcomeOf(run, host)).toEqual({ kind: "stopped" });
    expect(run).not.toHaveBeenCalled();
  });

  test("a step hears of the abort, with its reason, and nothing that it still returns is kept", async () => {
    const { host, abort, journal } = createFakeHost();
    const reasons: unknown[] = [];
    const outcome = outcomeOf(
      (task) =>
        task.step("s", (signal) => {
          const { promise, resolve } = Promise.withResolvers<number>();
          signal.addEventListener("abort", () => {
            reasons.push(signal.reason);
            resolve(1);
          });
          abort.abort("cancelled");
          return promise;
        }),
      host,
    );
    expect(await outcome).toEqual({ kind: "stopped" });
    await new Promise((resolve) => setImmediate(resolve));
    expect(reasons).toEqual(["cancelled"]);
    expect(journal.steps.size).toBe(0);
  });

  test("after the end no method does anything, and its rejection says so", async () => {
    const { host, abort, journal, said, logged, extended } = createFakeHost();
    let task: TaskContext | undefined;
    const fn = vi.fn(() => 1);
    const outcome = outcomeOf((given) => {
      task = given;
      return new Promise(() => {});
    }, host);
    abort.abort();
    await outcome;
    if (!task) throw new Error("not run");
    task.log("info", "late");
    const late = await Promise.allSettled([
      task.step("late", fn),
      task.progress("late"),
      task.extend(1),
      task.sleep("late", 1),
      task.roots("late"),
      task.elicit("late", { message: "m", schema: z.object({}) }),
    ]);
    for (const end of late)
      expect(end).toMatchObject({ status: "rejected", reason: { code: "perdure_run_ended" } });
    expect(fn).not.toHaveBeenCalled();
    expect([journal.steps.size, said, logged, extended]).toEqual([0, [], [], []]);
  });

  test("what an abandoned function still throws or leaves alone is no unhandled rejection", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    const { host, abort } = createFakeHost();
    const outcome = outcomeOf(async (task) => {
      void task.step(
        "left alone",
        (signal) => new Promise<void>((_, reject) => signal.addEventListener("abort", reject)),
      );
      await new Promise((resolve) => task.signal.addEventListener("abort", resolve));
      void task.step("too late", () => 1);
      throw new Error("late");
    }, host);
    abort.abort();
    expect(await outcome).toEqual({ kind: "stopped" });
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).not.toHaveBeenCalled();
  });

  test("no listener is left on the host's signal", async () => {
    const { host, abort } = createFakeHost();
    const removed = vi.spyOn(abort.signal, "removeEventListener");
    await outcomeOf(() => "done", host);
    expect(removed).toHaveBeenCalledTimes(1);
  });
});

describe("progress, log and extend", () => {
  test("what was said before is not said again while the run replays", async () => {
    const { host, journal, said, logged } = createFakeHost();
    const run: Body = async (task) => {
      await task.progress("starting");
      task.log("info", "starting");
      await task.step("a", () => 1);
      await task.progress("a done");
      task.log("info", "a done");
      await task.step("b", () => 2);
      await task.progress("b done");
      task.log("info", "b done");
    };
    journal.steps.set("a", '{"ok":1}');
    await outcomeOf(run, host);
    expect(said).toEqual(["a done", "b done"]);
    expect(logged).toEqual(["info a done", "info b done"]);
  });

  test("extend passes milliseconds on, and a host that cannot extend stops the run", async () => {
    const { host, extended } = createFakeHost();
    await outcomeOf((task) => task.extend("2m"), host);
    expect(extended).toEqual([120_000]);
    const fenced = createFakeHost({ extend: () => Promise.reject(new Error("fenced")) });
    expect(await outcomeOf((task) => task.extend(1), fenced.host)).toEqual({ kind: "stopped" });
  });

  test("a duration that is none fails the run with what to write", async () => {
    expect(await outcomeOf((task) => task.sleep("s", "soon"))).toMatchObject({
      kind: "failed",
      error: { message: expect.stringContaining('sleep("s") is "soon", which is no duration') },
    });
  });
});
