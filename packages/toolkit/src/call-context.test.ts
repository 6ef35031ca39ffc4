import { describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { defineTool } from "./define-tool.ts";
import { createFakeHost, untyped } from "./fake-host.ts";
import type { JsonObject } from "./json.ts";
import type { RunHost } from "./run-host.ts";
import { prepareTool, runTool } from "./run-tool.ts";
import type { CallContext, SampleRequest, TaskContext } from "./task-context.ts";

type Body = (task: TaskContext) => unknown;
const outcomeOf = (run: Body, host: RunHost) =>
  runTool(defineTool({ name: "t", description: "d", run: (_args, task) => untyped(run(task)) }), {}, host);
const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "answered",
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
  );
const approval = { message: "Approve?", schema: z.object({ approved: z.boolean() }) };
const APPROVAL = JSON.stringify({
  method: "elicitation/create",
  params: {
    mode: "form",
    message: "Approve?",
    requestedSchema: {
      type: "object",
      properties: { approved: { type: "boolean" } },
      required: ["approved"],
    },
  },
});
const sample: SampleRequest = {
  messages: [{ role: "user", content: { type: "text", text: "Capital of France?" } }],
  maxTokens: 100,
};

describe("waiting", () => {
  test("a question without an answer ends the run as waiting, with the request's text", async () => {
    const { host } = createFakeHost();
    expect(await outcomeOf((task) => task.elicit("ok", approval), host)).toEqual({
      kind: "waiting",
      requests: [{ key: "ok", request: APPROVAL }],
      sleeps: [],
    });
  });

  test("questions that are awaited together are outstanding together, with sleeps beside them", async () => {
    const { host } = createFakeHost();
    const run: Body = (task) =>
      Promise.all([
        task.elicit("ok", approval),
        task.sample("capital", sample),
        task.roots("roots"),
        task.sleep("timeout", "1h"),
      ]);
    expect(await outcomeOf(run, host)).toEqual({
      kind: "waiting",
      requests: [
        { key: "ok", request: APPROVAL },
        { key: "capital", request: JSON.stringify({ method: "sampling/createMessage", params: sample }) },
        { key: "roots", request: '{"method":"roots/list","params":{}}' },
      ],
      sleeps: [{ name: "timeout", durationMs: 3_600_000 }],
    });
  });

  test("a run does not wait while a step is in hand, and takes what the step leads to with it", async () => {
    const { host, journal } = createFakeHost();
    const run: Body = (task) =>
      Promise.all([
        task.elicit("first", approval),
        task
          .step("slow", async () => {
            for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
          })
          .then(() => task.elicit("second", approval)),
      ]);
    expect(await outcomeOf(run, host)).toMatchObject({ requests: [{ key: "first" }, { key: "second" }] });
    expect(journal.steps.has("slow")).toBe(true);
  });

  test("code between two questions that needs a turn of the event loop is waited for", async () => {
    const { host } = createFakeHost();
    const run: Body = (task) =>
      Promise.all([
        task.elicit("first", approval),
        new Promise((resolve) => setImmediate(resolve)).then(() => task.elicit("second", approval)),
      ]);
    expect(await outcomeOf(run, host)).toMatchObject({ requests: [{ key: "first" }, { key: "second" }] });
  });

  test("a run with nothing asked is not waiting, however long its own work takes", async () => {
    const { host } = createFakeHost();
    const run: Body = async () => {
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
      return "done";
    };
    expect(await outcomeOf(run, host)).toMatchObject({ kind: "completed" });
  });

  test("a tool that goes on without the answer is not held up by the question", async () => {
    const { host } = createFakeHost();
    const run: Body = async (task) => {
      void task.elicit("ok", approval);
      return task.step("s", () => "done");
    };
    expect(await outcomeOf(run, host)).toMatchObject({ kind: "completed" });
  });

  test("an answered question resolves, and only the others are waited for", async () => {
    const { host, accept } = createFakeHost();
    accept("a", { approved: true });
    const run: Body = (task) => Promise.all([task.elicit("a", approval), task.elicit("b", approval)]);
    expect(await outcomeOf(run, host)).toMatchObject({ kind: "waiting", requests: [{ key: "b" }] });
  });
});

describe("the same key means the same request", () => {
  test("another request under a known key fails the run, and the message names the key", async () => {
    const { host, journal, accept } = createFakeHost();
    journal.requests.set("ok", APPROVAL.replace("Approve?", "Delete everything?"));
    accept("ok", { approved: true });
    expect(await outcomeOf((task) => task.elicit("ok", approval), host)).toMatchObject({
      kind: "failed",
      error: {
        code: -32603,
        message: expect.stringContaining('Another question was asked under the key "ok" before'),
      },
    });
  });

  test("the order of keys makes no other request, and the recorded text is the one that stays", async () => {
    const { host, journal } = createFakeHost();
    const { method, params } = JSON.parse(APPROVAL);
    const reordered = JSON.stringify({ params, method });
    journal.requests.set("ok", reordered);
    expect(await outcomeOf((task) => task.elicit("ok", approval), host)).toMatchObject({
      requests: [{ key: "ok", request: reordered }],
    });
  });
});

describe("answers", () => {
  const answered = (key: string, answer: unknown, body: Body): ReturnType<typeof outcomeOf> => {
    const { host, journal } = createFakeHost();
    journal.answers.set(key, JSON.stringify(answer));
    return outcomeOf(async (task) => JSON.stringify(await body(task)), host);
  };
  const result = (value: unknown) => ({
    result: { content: [{ type: "text", text: JSON.stringify(value) }] },
  });

  test("an accepted form is validated, with defaults in and what was not asked out", async () => {
    const schema = z.object({ approved: z.boolean(), note: z.string().default("none") });
    const answer = { action: "accept", content: { approved: true, extra: 1 } };
    expect(await answered("k", answer, (task) => task.elicit("k", { message: "m", schema }))).toMatchObject(
      result({ action: "accept", content: { approved: true, note: "none" } }),
    );
  });

  test.each(["decline", "cancel"])("%s carries no content", async (action) => {
    const answer = { action, content: { approved: true } };
    expect(await answered("k", answer, (task) => task.elicit("k", approval))).toMatchObject(
      result({ action }),
    );
  });

  test("a model's answer has role, content, model and stop reason", async () => {
    const answer = {
      role: "assistant",
      content: { type: "text", text: "Paris" },
      model: "m",
      stopReason: "endTurn",
    };
    expect(await answered("k", { ...answer, _meta: {} }, (task) => task.sample("k", sample))).toMatchObject(
      result(answer),
    );
  });

  test("roots come as a list", async () => {
    const roots = [{ uri: "file:///home", name: "Home" }, { uri: "file:///tmp" }];
    expect(await answered("k", { roots }, (task) => task.roots("k"))).toMatchObject(result(roots));
  });

  test.each<[string, unknown, Body, string]>([
    ["a number", 12345, (t) => t.elicit("k", approval), "Invalid input: expected object, received number"],
    ["another action", { action: "maybe" }, (t) => t.elicit("k", approval), "action:"],
    [
      "content that does not fit",
      { action: "accept", content: { approved: "s3cret" } },
      (t) => t.elicit("k", approval),
      "content.approved: Invalid input: expected boolean, received string",
    ],
    ["no content", { action: "accept" }, (t) => t.elicit("k", approval), "content.approved"],
    ["no model", { role: "assistant", content: [] }, (t) => t.sample("k", sample), "model"],
    ["no roots", {}, (t) => t.roots("k"), "roots"],
  ])(
    "%s is an invalid answer: -32602 with the key and the path, not the value",
    async (...[, answer, body, problem]) => {
      const outcome = await answered("k", answer, body);
      expect(outcome).toMatchObject({
        kind: "failed",
        error: {
          code: -32602,
          message: expect.stringMatching(/^The answer to "k" is not valid: /),
        },
      });
      const message = outcome.kind === "failed" ? outcome.error.message : "";
      expect(message).toContain(problem);
      expect(message).not.toContain("s3cret");
    },
  );

  test("a tool may catch an invalid answer and ask again under another key", async () => {
    const { host, accept } = createFakeHost();
    accept("age", { age: -1 });
    const age = { message: "Age?", schema: z.object({ age: z.number().min(0) }) };
    const run: Body = (task) => task.elicit("age", age).catch(() => task.elicit("age again", age));
    expect(await outcomeOf(run, host)).toMatchObject({ kind: "waiting", requests: [{ key: "age again" }] });
  });
});

describe("capabilities", () => {
  const asked = async (
    capabilities: JsonObject,
    ask: (task: CallContext) => Promise<unknown>,
  ): Promise<unknown> => {
    const { host } = createFakeHost({ capabilities });
    let said: unknown;
    const outcome = await outcomeOf(async (task) => {
      said = await codeOf(ask(task));
    }, host);
    return outcome.kind === "waiting" ? "asked" : said;
  };
  const elicit = (task: CallContext) => task.elicit("k", approval);

  test.each<[JsonObject, string]>([
    [{ elicitation: {} }, "asked"],
    [{ elicitation: { form: {} } }, "asked"],
    [{ elicitation: { form: {}, url: {} } }, "asked"],
    [
      {},
      "perdure_missing_capability: The client did not declare the elicitation capability, which this request needs",
    ],
    [
      { elicitation: { url: {} } },
      "perdure_missing_capability: The client did not declare the elicitation.form capability, which this request needs",
    ],
  ])("a form with %j", async (capabilities, expected) => {
    expect(await asked(capabilities, elicit)).toBe(expected);
  });

  test.each<[JsonObject, JsonObject, string]>([
    [{ sampling: {} }, {}, "asked"],
    [{}, {}, "perdure_missing_capability"],
    [{ sampling: {} }, { tools: [] }, "sampling.tools"],
    [{ sampling: {} }, { toolChoice: { mode: "auto" } }, "sampling.tools"],
    [{ sampling: { tools: {} } }, { tools: [] }, "asked"],
    [{ sampling: {} }, { includeContext: "allServers" }, "sampling.context"],
    [{ sampling: {} }, { includeContext: "none" }, "asked"],
  ])("a model with %j for a request with %j", async (capabilities, extra, expected) => {
    expect(await asked(capabilities, (task) => task.sample("k", { ...sample, ...extra }))).toContain(
      expected,
    );
  });

  test("roots", async () => {
    expect(await asked({ roots: {} }, (task) => task.roots("k"))).toBe("asked");
    expect(await asked({}, (task) => task.roots("k"))).toContain("perdure_missing_capability");
  });

  test("a client without the capability is never asked; uncaught, the call fails with -32021", async () => {
    const { host } = createFakeHost({ capabilities: { elicitation: { url: {} } } });
    expect(await outcomeOf(elicit, host)).toMatchObject({
      kind: "failed",
      error: { code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } },
    });
  });
});

describe("questions that cannot be asked", () => {
  test.each<[string, Body, string]>([
    [
      "a nested form",
      (t) => t.elicit("k", { message: "m", schema: z.object({ a: z.object({}) }) }),
      'elicit("k"): schema.a must be a string',
    ],
    [
      "no message",
      (t) => t.elicit("k", { ...approval, message: "" }),
      'elicit("k"): message must say what is asked',
    ],
    [
      "what is no JSON",
      (t) => t.sample("k", { ...sample, metadata: untyped({ at: new Date() }) }),
      'sample("k"): the request.metadata.at is a Date',
    ],
  ])("%s fails the run with the key", async (_name, run, message) => {
    expect(await outcomeOf(run, createFakeHost().host)).toMatchObject({
      error: { code: -32603, message: expect.stringContaining(message) },
    });
  });
});

describe("sleep", () => {
  const nap: Body = async (task) => {
    await task.sleep("nap", "1m");
    return "awake";
  };

  test("a sleep is waited for until its recorded end has passed", async () => {
    const { host, journal } = createFakeHost();
    const waiting = { kind: "waiting", requests: [], sleeps: [{ name: "nap", durationMs: 60_000 }] };
    expect(await outcomeOf(nap, host)).toEqual(waiting);
    journal.sleeps.set("nap", 1_001);
    expect(await outcomeOf(nap, host)).toEqual(waiting);
    journal.sleeps.set("nap", 1_000);
    expect(await outcomeOf(nap, host)).toMatchObject({ kind: "completed" });
  });

  test("a host that cannot park sleeps in place", async () => {
    const sleepInPlace = vi.fn(async () => {});
    const { host } = createFakeHost({ sleepInPlace });
    expect(await outcomeOf(nap, host)).toMatchObject({ kind: "completed" });
    expect(sleepInPlace).toHaveBeenCalledWith(60_000, expect.any(AbortSignal));
  });

  test("a question is asked at once, though a sleep in place goes on beside it", async () => {
    const { host } = createFakeHost({ sleepInPlace: () => new Promise(() => {}) });
    const run: Body = (task) => Promise.race([task.elicit("k", approval), task.sleep("timeout", "1h")]);
    expect(await outcomeOf(run, host)).toMatchObject({
      kind: "waiting",
      requests: [{ key: "k" }],
      sleeps: [],
    });
  });
});

describe("preparation", () => {
  const prepared = (prepare: (call: CallContext) => unknown, host = createFakeHost().host) =>
    prepareTool(
      defineTool({
        name: "t",
        description: "d",
        input: z.object({ n: z.int().default(1) }),
        prepare: (_args, call) => untyped(prepare(call)),
        run: () => {},
      }),
      {},
      host,
    );

  test("what it returns is the prepared value", async () => {
    expect(await prepared(() => ({ user: "alice" }))).toEqual({ kind: "prepared", value: { user: "alice" } });
  });

  test("a tool without a preparation is prepared with null", async () => {
    const tool = defineTool({ name: "t", description: "d", run: () => {} });
    expect(await prepareTool(tool, {}, createFakeHost().host)).toEqual({ kind: "prepared", value: null });
  });

  test("it may ask the client, and gets the answer in the next round", async () => {
    const { host, accept } = createFakeHost();
    const ask = async (call: CallContext) => (await call.elicit("name", approval)).action;
    expect(await prepared(ask, host)).toMatchObject({ kind: "waiting", requests: [{ key: "name" }] });
    accept("name", { approved: true });
    expect(await prepared(ask, host)).toEqual({ kind: "prepared", value: "accept" });
  });

  test("what it throws is not tried again", async () => {
    expect(await prepared(() => Promise.reject(new Error("s3cret")))).toEqual({
      kind: "failed",
      error: { code: -32603, message: "The tool failed" },
      cause: new Error("s3cret"),
    });
  });

  test("a value that is not JSON is refused", async () => {
    expect(await prepared(() => new Map())).toMatchObject({
      kind: "failed",
      error: { message: "prepare returned what JSON cannot keep: the value is a Map, no plain object" },
    });
  });

  test("the run finds it as task.prepared", async () => {
    const { host } = createFakeHost({ prepared: { user: "alice" } });
    const tool = defineTool({
      name: "t",
      description: "d",
      prepare: () => ({ user: "" }),
      run: (_args, task) => task.prepared.user,
    });
    expect(await runTool(tool, {}, host)).toMatchObject({ result: { content: [{ text: "alice" }] } });
  });
});
