import { createRedisTasks } from "@perdure/redis";
import type { RedisTasks } from "@perdure/redis";
import { created, startRedis, until } from "@perdure/testkit";
import type { RunningRedis } from "@perdure/testkit";
import { tenantRefOf } from "@perdure/tasks";
import type { TaskSnapshot } from "@perdure/tasks";
import {
  ProtocolError,
  TaskCancelled,
  ToolError,
  definePrompt,
  defineResource,
  defineTool,
} from "@perdure/toolkit";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startReplica } from "../bench-replica.ts";
import type { BenchReplica } from "../bench-replica.ts";
import { handsOn } from "../bench-tasks.ts";
import type { TaskHands } from "../bench-tasks.ts";
import { TASKS, begin, call } from "../mcp-bench.ts";
import type { Ask, Exchange, Response } from "../mcp-bench.ts";

const NOTHING = { tenants: 0, tasks: 0, watchers: 0, streams: 0, calls: 0 };
const ELICITATION = { elicitation: {} };
const yes = { action: "accept", content: { ok: true } };
const schema = z.object({ ok: z.boolean() });
let stepRuns = 0;
let stopped = 0;
let failures = 0;

const OFFERS = [
  defineTool({
    name: "chatty",
    description: "Tells how far it is",
    async run(_, task) {
      for (const done of [0, 50, 50, 100]) await task.progress(`at ${done}`, { done, total: 100 });
      task.log("debug", "a detail");
      task.log("warning", "careful", { code: 7 });
      return "done";
    },
  }),
  defineTool({
    name: "asks_twice",
    description: "Asks, one question after the other",
    async run(_, task) {
      const id = await task.step("count", () => (stepRuns += 1));
      const one = await task.elicit("one", { message: "One?", schema });
      const two = await task.elicit("two", { message: "Two?", schema });
      return `${id}: ${one.action} ${two.action}`;
    },
  }),
  defineTool({
    name: "sleeper",
    description: "Waits until it is stopped",
    run: (_, task) =>
      new Promise((_resolve, reject) => {
        task.signal.addEventListener("abort", () => {
          stopped += 1;
          reject(new Error("stopped"));
        });
      }),
  }),
  defineTool({ name: "deaf", description: "Never returns", run: () => new Promise<string>(() => {}) }),
  defineTool({
    name: "flaky",
    description: "Fails twice",
    retry: { attempts: 3, backoff: "1ms" },
    run(_, task) {
      failures += 1;
      if (task.attempt < 3) throw new Error("not yet");
      return `attempt ${task.attempt}`;
    },
  }),
  defineTool({
    name: "refuses",
    description: "Ends in every way",
    input: z.object({ how: z.string() }),
    run({ how }) {
      if (how === "tool") throw new ToolError("read this");
      if (how === "protocol") throw new ProtocolError(4711, "odd", { why: [] });
      throw new TaskCancelled("called off");
    },
  }),
  defineTool({
    name: "work",
    description: "A task if you like",
    taskSupport: "optional",
    run: () => "unused",
  }),
  defineTool({
    name: "prepared",
    description: "Asks before its task exists",
    taskSupport: "optional",
    async prepare(_, prepare) {
      const answer = await prepare.elicit("go", { message: "Go?", schema });
      if (answer.action !== "accept") throw new ToolError("Then not");
      return { ok: answer.content.ok };
    },
    run: () => "unused",
  }),
  definePrompt({
    name: "asking",
    description: "Asks",
    get: async (_, prompt) => `You said ${(await prompt.elicit("q", { message: "?", schema })).action}`,
  }),
  defineResource({ uri: "test://one", name: "one", mimeType: "text/plain", read: () => "text" }),
  defineResource({
    uriTemplate: "test://many/{id}",
    name: "many",
    complete: { id: (value) => ["alpha", "beta"].filter((name) => name.startsWith(value)) },
    read: ({ id }) => (id === "none" ? undefined : `<${id}>`),
  }),
];

let redis: RunningRedis;
let tasks: RedisTasks;
let replica: BenchReplica;
let hands: TaskHands;

beforeAll(async () => {
  redis = await startRedis();
  tasks = createRedisTasks({ redisUrl: redis.url, leaseMs: 10_000, durability: "ephemeral" });
  await tasks.start();
  await tasks.hints.start();
  replica = await startReplica(tasks, OFFERS);
  hands = handsOn(tasks.leases, "acme");
});
afterEach(async () => {
  await until(() => JSON.stringify(replica.api.counts()) === JSON.stringify(NOTHING), {
    what: "nothing is left",
  });
});
afterAll(async () => {
  await replica.api.stop();
  await tasks.stop();
  await redis.stop();
});

const asked = (name: string, more: object = {}): Ask => ({ params: { name, arguments: {}, ...more } });
const tool = (name: string, more: object = {}, ask: Ask = {}): Promise<Response> =>
  call(replica.url, "tools/call", { capabilities: ELICITATION, ...asked(name, more), ...ask });
/** The id of the one task that a waiting call has made. */
const taskOf = async (exchange: Exchange, at = replica): Promise<string> => {
  const { taskId } = await until(() => at.api.counts().tasks === 1 && createdBy.at(-1), { what: "the task" });
  exchange.response.catch(() => {});
  return taskId;
};
const createdBy: TaskSnapshot[] = [];
const watched = (): typeof tasks => ({
  ...tasks,
  store: {
    ...tasks.store,
    async create(task) {
      const reply = await tasks.store.create(task);
      createdBy.push(created(reply).snapshot);
      return reply;
    },
  },
});

describe("a tool that runs in the replica", () => {
  test("tells progress and logs on the response's stream to a client that asked, before the result", async () => {
    const { messages, headers } = await tool(
      "chatty",
      {},
      {
        meta: { progressToken: "p", "io.modelcontextprotocol/logLevel": "warning" },
      },
    );
    expect(headers["content-type"]).toBe("text/event-stream");
    expect(messages.slice(0, -1).map(({ method, params }) => ({ method, params }))).toEqual([
      ...[0, 50, 100].map((progress) => ({
        method: "notifications/progress",
        params: { progressToken: "p", progress, total: 100, message: `at ${progress}` },
      })),
      {
        method: "notifications/message",
        params: { level: "warning", logger: "chatty", data: { message: "careful", code: 7 } },
      },
    ]);
    expect(messages.at(-1)).toMatchObject({ id: 1, result: { resultType: "complete" } });
  });

  test.each([{}, { meta: { progressToken: 1 }, headers: { accept: "application/json" } }])(
    "says nothing but the result to a client that asked for nothing or takes no stream: %j",
    async (ask) => {
      const { messages, headers } = await tool("chatty", {}, ask);
      expect([headers["content-type"], messages.length]).toEqual(["application/json", 1]);
    },
  );

  test("asks by input_required and goes on from the sealed state, without doing a step again", async () => {
    const before = stepRuns;
    const first = (await tool("asks_twice")).message.result;
    expect(first).toMatchObject({
      resultType: "input_required",
      inputRequests: { one: { method: "elicitation/create" } },
    });
    const again = (
      await tool("asks_twice", { requestState: first.requestState, inputResponses: { nobody: yes } })
    ).message;
    expect(Object.keys(again.result.inputRequests)).toEqual(["one"]);
    const second = (
      await tool("asks_twice", { requestState: first.requestState, inputResponses: { one: yes } })
    ).message;
    expect(Object.keys(second.result.inputRequests)).toEqual(["two"]);
    const last = await tool("asks_twice", {
      requestState: second.result.requestState,
      inputResponses: { two: { action: "decline" } },
    });
    expect(last.message.result.content[0].text).toBe(`${before + 1}: accept decline`);
  });

  test("a state is good for its caller and its request alone, and only as it was", async () => {
    const { requestState } = (await tool("asks_twice")).message.result;
    const inputResponses = { one: yes };
    const refused = [
      await tool("asks_twice", { requestState: `${requestState}x`, inputResponses }),
      await tool("asks_twice", { requestState: "", inputResponses }),
      await tool("asks_twice", { requestState, inputResponses }, { as: "acme/bob" }),
      await tool("asks_twice", { requestState, inputResponses }, { as: "globex/alice" }),
      await tool("asks_twice", { requestState, inputResponses, arguments: { other: 1 } }),
      await tool("chatty", { requestState, inputResponses }),
      await tool("asks_twice", { requestState, inputResponses: { one: { action: "maybe" } } }),
      await tool("asks_twice", { inputResponses: { one: 5 } }),
      await tool("asks_twice", { inputResponses: null }),
    ];
    for (const { message } of refused) expect(message.error?.code).toBe(-32602);
  });

  test("a client that cannot be asked is told so with -32021", async () => {
    const { status, message } = await tool("asks_twice", {}, { capabilities: {} });
    expect([status, message.error.code]).toEqual([400, -32021]);
    expect(message.error.data.requiredCapabilities).toHaveProperty("elicitation");
  });

  test("is stopped when its client hangs up", async () => {
    const before = stopped;
    const exchange = begin(replica.url, "tools/call", asked("sleeper"));
    await until(() => replica.api.counts().calls === 1, { what: "the call" });
    exchange.hangUp();
    await until(() => stopped === before + 1, { what: "the tool is stopped" });
    expect(replica.api.counts().streams).toBe(0);
  });

  test("is stopped at the deadline, even when it never returns, and the client is told", async () => {
    const hasty = await startReplica(tasks, OFFERS, { limits: { callTimeoutMs: 150 } });
    const { message } = await call(hasty.url, "tools/call", asked("deaf"));
    expect(message.error).toEqual({
      code: -32603,
      message: "The call took longer than 150 ms and was cancelled",
    });
    expect(hasty.api.counts()).toEqual(NOTHING);
    await hasty.api.stop();
  });

  test("is tried again by its policy", async () => {
    failures = 0;
    expect((await tool("flaky")).message.result.content[0].text).toBe("attempt 3");
    expect(failures).toBe(3);
  });

  test("ends as its error says", async () => {
    const how = async (kind: string) => (await tool("refuses", { arguments: { how: kind } })).message;
    expect((await how("tool")).result).toMatchObject({ isError: true, content: [{ text: "read this" }] });
    expect((await how("protocol")).error).toEqual({ code: 4711, message: "odd", data: { why: [] } });
    expect((await how("cancelled")).result).toMatchObject({
      isError: true,
      content: [{ text: "called off" }],
    });
  });

  test("a long silence becomes a stream with comments, for a client that takes one", async () => {
    const lively = await startReplica(tasks, OFFERS, { limits: { keepAliveMs: 40, callTimeoutMs: 400 } });
    const exchange = begin(lively.url, "tools/call", asked("deaf"));
    const { messages } = await exchange.response;
    expect(exchange.comments.length).toBeGreaterThan(1);
    expect(messages.at(-1)?.error.code).toBe(-32603);
    await lively.api.stop();
  });
});

describe("an optional tool, called by a client without tasks", () => {
  let own: BenchReplica;
  beforeAll(async () => {
    own = await startReplica(watched(), OFFERS, { limits: { callTimeoutMs: 5000 } });
  });
  afterAll(() => own.api.stop());
  const start = (name: string, more: object = {}, ask: Ask = {}): Exchange =>
    begin(own.url, "tools/call", { capabilities: ELICITATION, ...asked(name, more), ...ask });
  const statusOf = async (taskId: string): Promise<unknown> => {
    const reply = await tasks.store.read({ owner: { tenant: "acme", principal: "alice" }, taskId });
    return reply.verdict === "found" ? reply.snapshot.status : reply.verdict;
  };

  test("runs as a durable task whose result it is given, with the messages as progress", async () => {
    const exchange = start("work", {}, { meta: { progressToken: 9 } });
    const { claim } = await hands.claim(await taskOf(exchange, own));
    await hands.say(claim, "half way");
    await until(() => exchange.messages.length === 1, { what: "the progress" });
    await hands.complete(claim, "fine");
    const { messages } = await exchange.response;
    expect(messages[0]?.params).toEqual({ progressToken: 9, progress: 1, message: "half way" });
    expect(messages[1]).toMatchObject({
      id: 1,
      result: { content: [{ text: "fine" }], resultType: "complete" },
    });
  });

  test("the error of its task is the error of the call", async () => {
    const exchange = start("work");
    const { claim } = await hands.claim(await taskOf(exchange, own));
    await hands.fail(claim, { code: 4711, message: "no luck", data: { list: [] } });
    expect((await exchange.response).message.error).toEqual({
      code: 4711,
      message: "no luck",
      data: { list: [] },
    });
  });

  test("its question is the call's question; the answer goes to the task, and the wait goes on at another replica", async () => {
    const exchange = start("work");
    const taskId = await taskOf(exchange, own);
    await hands.ask((await hands.claim(taskId)).claim, "a", "b");
    const { message } = await exchange.response;
    expect(message.result).toMatchObject({ resultType: "input_required" });
    expect(message.result).not.toHaveProperty("taskId");
    const partly = await tool("work", {
      requestState: message.result.requestState,
      inputResponses: { a: yes },
    });
    expect(Object.keys(partly.message.result.inputRequests)).toEqual(["b"]);
    const rest = begin(replica.url, "tools/call", {
      capabilities: ELICITATION,
      ...asked("work", { requestState: partly.message.result.requestState, inputResponses: { b: yes } }),
    });
    await until(async () => (await statusOf(taskId)) === "working", { what: "the task goes on" });
    const claimed = await hands.claim(taskId);
    expect(new Set(claimed.journal.answers.keys())).toEqual(new Set(["a", "b"]));
    await hands.complete(claimed.claim, "thanks");
    expect((await rest.response).message.result.content[0].text).toBe("thanks");

    const late = await tool("work", { requestState: message.result.requestState, inputResponses: {} });
    expect(late.message.result.content[0].text).toBe("thanks");
  });

  test("is cancelled when its client hangs up", async () => {
    const exchange = start("work");
    const taskId = await taskOf(exchange, own);
    exchange.hangUp();
    await until(async () => (await statusOf(taskId)) === "cancelled", { what: "the task is cancelled" });
    expect(await tasks.leases.claim({ tenantRef: tenantRefOf("acme"), taskId })).toEqual({
      verdict: "terminal",
    });
  });

  test("is cancelled at the deadline, and its client is told", async () => {
    const hasty = await startReplica(watched(), OFFERS, { limits: { callTimeoutMs: 200 } });
    const exchange = begin(hasty.url, "tools/call", asked("work"));
    const taskId = await taskOf(exchange, hasty);
    expect((await exchange.response).message.error.message).toContain("took longer than 200 ms");
    expect(await statusOf(taskId)).toBe("cancelled");
    await hasty.api.stop();
  });

  test("is handed on, not cancelled, when the replica stops", async () => {
    const leaving = await startReplica(watched(), OFFERS);
    const exchange = begin(leaving.url, "tools/call", asked("work"));
    const taskId = await taskOf(exchange, leaving);
    await leaving.api.stop();
    const { result } = (await exchange.response).message;
    expect(result).toEqual({
      resultType: "input_required",
      requestState: expect.any(String),
      _meta: expect.anything(),
    });
    expect(await statusOf(taskId)).toBe("working");
    const rest = begin(replica.url, "tools/call", asked("work", { requestState: result.requestState }));
    await hands.complete((await hands.claim(taskId)).claim, "after all");
    expect((await rest.response).message.result.content[0].text).toBe("after all");
  });

  test("asks before its task exists, and then has the answer", async () => {
    const first = (await start("prepared").response).message.result;
    expect(first).toMatchObject({ resultType: "input_required", inputRequests: { go: {} } });
    const created = await call(own.url, "tools/call", {
      capabilities: { ...ELICITATION, ...TASKS },
      ...asked("prepared", { requestState: first.requestState, inputResponses: { go: yes } }),
    });
    const { result } = created.message;
    expect(result).toMatchObject({ resultType: "task", status: "working" });
    expect(result).not.toHaveProperty("requestState");
    const claimed = await hands.claim(result.taskId);
    expect(claimed.prepared).toBe('{"ok":true}');
    expect(claimed.params).not.toMatch(/requestState|inputResponses/);
    const declined = await start("prepared", {
      requestState: first.requestState,
      inputResponses: { go: { action: "decline" } },
    }).response;
    expect(declined.message.result).toMatchObject({ isError: true, content: [{ text: "Then not" }] });
  });
});

describe("prompts, resources, completions", () => {
  test("a prompt may ask", async () => {
    const get = (more: object = {}): Promise<Response> =>
      call(replica.url, "prompts/get", { capabilities: ELICITATION, params: { name: "asking", ...more } });
    const { requestState } = (await get()).message.result;
    const { result } = (await get({ requestState, inputResponses: { q: yes } })).message;
    expect(result).toMatchObject({
      resultType: "complete",
      messages: [{ content: { text: "You said accept" } }],
    });
    const unknown = await call(replica.url, "prompts/get", { params: { name: "none" } });
    expect(unknown.message.error.code).toBe(-32602);
  });

  test("a resource is read by its URI or a template, and nobody may keep it", async () => {
    const read = (uri: string): Promise<Response> => call(replica.url, "resources/read", { params: { uri } });
    expect((await read("test://one")).message.result).toMatchObject({
      contents: [{ uri: "test://one", text: "text", mimeType: "text/plain" }],
      ttlMs: 0,
      cacheScope: "private",
    });
    expect((await read("test://many/7")).message.result.contents[0].text).toBe("<7>");
    for (const uri of ["test://many/none", "test://nowhere"])
      expect((await read(uri)).message.error).toMatchObject({ code: -32602, data: { uri } });
  });

  test("a template's variable is completed", async () => {
    const params = {
      ref: { type: "ref/resource", uri: "test://many/{id}" },
      argument: { name: "id", value: "b" },
    };
    const { result } = (await call(replica.url, "completion/complete", { params })).message;
    expect(result).toMatchObject({
      completion: { values: ["beta"], total: 1, hasMore: false },
      resultType: "complete",
    });
  });

  test("a list is paged", async () => {
    const paged = await startReplica(tasks, OFFERS, { limits: { pageSize: 3 } });
    const names: string[] = [];
    for (let cursor: string | undefined, page = 0; page < 5; page += 1) {
      const { result } = (await call(paged.url, "tools/list", { params: { cursor } })).message;
      names.push(...result.tools.map(({ name }: { name: string }) => name));
      cursor = result.nextCursor;
      if (cursor === undefined) break;
    }
    expect(names).toEqual([
      "asks_twice",
      "chatty",
      "deaf",
      "flaky",
      "prepared",
      "refuses",
      "sleeper",
      "work",
    ]);
    await paged.api.stop();
  });
});
