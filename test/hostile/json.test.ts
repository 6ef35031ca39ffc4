import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { errorOf, expectClean, messageText, startHostileBench, usualMeta } from "./replica-bench.ts";
import type { HostileBench, HostileRequest } from "./replica-bench.ts";

/* JSON as nobody should send it, to a running replica. */

let bench: HostileBench;
beforeAll(async () => {
  bench = await startHostileBench();
});
afterAll(() => bench?.[Symbol.asyncDispose]());

const MEMBERS = '"jsonrpc":"2.0","id":1,"method":"tools/list"';
const META = JSON.stringify(usualMeta());
const MB = 1_000_000;

describe("an envelope that is none is refused with 400", () => {
  test.each<[string, string, number]>([
    ["a batch", `[${messageText("tools/list", {})}]`, -32600],
    ["an empty batch", "[]", -32600],
    ["a text", '"tools/list"', -32600],
    ["null", "null", -32600],
    ["two messages", `${messageText("tools/list", {})}{}`, -32700],
    ["NaN", '{"jsonrpc":"2.0","id":NaN,"method":"tools/list"}', -32700],
    ["a comment", '{"jsonrpc":"2.0",/**/"id":1,"method":"tools/list"}', -32700],
    ["a byte order mark and nothing", "\ufeff", -32700],
    ["a response", '{"jsonrpc":"2.0","id":1,"result":{}}', -32600],
    ["an error", '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}', -32600],
    ["another version", '{"jsonrpc":"1.0","id":1,"method":"tools/list"}', -32600],
    ["no version", '{"id":1,"method":"tools/list"}', -32600],
    ["a method that is a number", '{"jsonrpc":"2.0","id":1,"method":5}', -32600],
    ["an empty method", '{"jsonrpc":"2.0","id":1,"method":""}', -32600],
    ["a method of 1 MB", `{"jsonrpc":"2.0","id":1,"method":"${"x".repeat(MB)}"}`, -32600],
    ["params that are a list", `{${MEMBERS},"params":[]}`, -32600],
    ["params that are null", `{${MEMBERS},"params":null}`, -32600],
    ["the id null", messageText("tools/list", {}, null), -32600],
    ["the id 1.5", messageText("tools/list", {}, 1.5), -32600],
    ["the id true", messageText("tools/list", {}, true), -32600],
    ["an id that is a list", messageText("tools/list", {}, []), -32600],
    ["an id that is an object", messageText("tools/list", {}, { toString: "x" }), -32600],
    ["an id over 2^53", `{"jsonrpc":"2.0","id":9007199254740993,"method":"tools/list"}`, -32600],
    ["the id 1e400", `{"jsonrpc":"2.0","id":1e400,"method":"tools/list"}`, -32600],
    ["an id of 1 MB", messageText("tools/list", {}, "x".repeat(MB)), -32600],
    ["two ids", `{"id":2,${MEMBERS}}`, -32600],
    ["two ids, one of them escaped", `{"\\u0069d":2,${MEMBERS}}`, -32600],
    ["a list 100,000 deep", "[".repeat(100_000) + "]".repeat(100_000), -32600],
    ["objects 65 deep", `{"a":`.repeat(65) + "1" + "}".repeat(65), -32600],
    ["brackets that never close", "[".repeat(60), -32700],
    ["30,000 keys", `{${Array.from({ length: 30_000 }, (_, n) => `"k${n}":0`).join()}}`, -32600],
    ["half of a surrogate pair", '{"jsonrpc":"2.0","id":"\\ud800","method":"tools/list"}', -32600],
    ["the other half, in a key", `{${MEMBERS},"\\udc00":1}`, -32600],
    ["the halves in the wrong order", `{${MEMBERS},"x":"\\udc00\\ud800"}`, -32600],
  ])("%s", async (_what, body, code) => {
    const response = await bench.send({ body });
    expect({ status: response.status, body: response.body }).toMatchObject({ status: 400 });
    expect(errorOf(response).code).toBe(code);
  });
});

test.each<[string, unknown]>([
  ["0", 0],
  ["-9007199254740991", -9_007_199_254_740_991],
  ["an empty text", ""],
  ["a name of Object.prototype", "__proto__"],
  ["256 emoji units", "😀".repeat(128)],
  ["a zero character", "\0"],
])("the id %s is answered to the letter", async (_what, id) => {
  const { status, body } = await bench.send({ body: messageText("tools/list", {}, id) });
  expect({ status, id: JSON.parse(body).id }).toEqual({ status: 200, id });
});

test("the same id may be used again, also at once: each request has its answer", async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => bench.send()));
  expect(answers.map(({ status, body }) => [status, JSON.parse(body).id])).toEqual(
    answers.map(() => [200, 1]),
  );
});

test("a notification, whatever it says, gets 202 and nothing else", async () => {
  for (const method of ["notifications/cancelled", "tools/call", "__proto__"]) {
    const body = JSON.stringify({ jsonrpc: "2.0", method, params: { requestId: 1, taskId: "x" } });
    expect(await bench.send({ body })).toMatchObject({ status: 202, body: "" });
  }
});

const NAMES = ["__proto__", "constructor", "toString", "hasOwnProperty", "prototype", "valueOf", "then", ""];

/** `{ [name]: value }` as a member of its own, also for `__proto__`. */
function named(name: string, value: unknown): object {
  return Object.fromEntries([[name, value]]);
}

describe.each(NAMES)("the name %j of Object.prototype is a name like any other", (name) => {
  const places: readonly [string, () => HostileRequest][] = [
    ["method", () => ({ method: name })],
    ["tool", () => ({ method: "tools/call", params: { name } })],
    ["prompt", () => ({ method: "prompts/get", params: { name } })],
    ["resource", () => ({ method: "resources/read", params: { uri: name } })],
    ["cursor", () => ({ method: "tools/list", params: { cursor: name } })],
    ["task", () => ({ method: "tasks/get", params: { taskId: name } })],
    ["task to cancel", () => ({ method: "tasks/cancel", params: { taskId: name } })],
    ["task to answer", () => ({ method: "tasks/update", params: { taskId: name, inputResponses: {} } })],
    [
      "requestState",
      () => ({
        method: "tools/call",
        params: { name: "greet", arguments: { name: "x" }, requestState: name },
      }),
    ],
    [
      "completion",
      () => ({
        method: "completion/complete",
        params: { ref: { type: "ref/prompt", name }, argument: { name, value: name } },
      }),
    ],
    ["capability", () => withMeta({ "io.modelcontextprotocol/clientCapabilities": named(name, {}) })],
    [
      "extension",
      () => withMeta({ "io.modelcontextprotocol/clientCapabilities": { extensions: named(name, {}) } }),
    ],
    ["log level", () => withMeta({ "io.modelcontextprotocol/logLevel": name })],
    ["member of _meta", () => withMeta(named(name, { polluted: true }))],
    [
      "argument",
      () => ({
        method: "tools/call",
        params: { name: "greet", arguments: { name: "x", ...own(name, "y") } },
      }),
    ],
    [
      "argument of a strict tool",
      () => ({
        method: "tools/call",
        params: { name: "json_schema_2020_12_tool", arguments: named(name, "y") },
      }),
    ],
    [
      "prompt's argument",
      () => ({ method: "prompts/get", params: { name: "test_simple_prompt", arguments: named(name, "y") } }),
    ],
    [
      "input response",
      () => ({
        method: "tools/call",
        params: {
          name: "test_input_required_result_elicitation",
          inputResponses: named(name, { action: "accept" }),
        },
      }),
    ],
  ];
  /** Spread would call a setter for `__proto__`. */
  function own(key: string, value: unknown): object {
    return key === "__proto__"
      ? JSON.parse(`{"x":{"__proto__":${JSON.stringify(value)}}}`)
      : named(key, value);
  }
  function withMeta(members: object): HostileRequest {
    const meta = [...Object.entries(usualMeta()), ...Object.entries(members)];
    const body = `{${MEMBERS},"params":{"_meta":${JSON.stringify(Object.fromEntries(meta))}}}`;
    return { body };
  }

  test.each(places)("as a %s", async (_place, request) => {
    const { status, body } = await bench.send(request());
    expect({ status, body }).toMatchObject({ status: expect.toBeOneOf([200, 400, 404]) });
    const answer = JSON.parse(body);
    expect("result" in answer || (answer.error.code < 0 && answer.error.code !== -32603)).toBe(true);
    expect(body).not.toContain("[native code]");
    expect(body).not.toContain("polluted");
  });

  test("as the key of an answer to a task, and as an answer's field", async () => {
    const client = await bench.cluster.client({ tenant: "acme", principal: "mallory" });
    const taskId = await client.create("confirm_delete", { filename: "x" });
    await client.untilStatus(taskId, "input_required");
    const before = await client.get(taskId);
    await client.update(taskId, JSON.parse(`{${JSON.stringify(name)}:{"action":"accept"}}`));
    expect((await client.get(taskId)).inputRequests).toEqual(before.inputRequests);
    const content = JSON.parse(`{"confirm":true,${JSON.stringify(name)}:{"polluted":true}}`);
    await client.update(taskId, { confirm: { action: "accept", content } });
    expect(JSON.stringify(await client.untilOver(taskId))).not.toContain("polluted");
  });
});

test("texts of a megabyte anywhere are refused or unknown, and never said back", async () => {
  const big = "x".repeat(MB - 2000);
  const short = { "mcp-name": "x" };
  const requests: readonly HostileRequest[] = [
    { method: "tools/call", params: { name: big }, headers: short },
    { method: "tasks/get", params: { taskId: big }, headers: short },
    { method: "resources/read", params: { uri: big }, headers: short },
    { method: "tools/list", params: { cursor: big } },
    { method: "tools/call", params: { name: "greet", arguments: { name: "x" }, requestState: big } },
    { method: "tools/call", params: { name: "json_schema_2020_12_tool", arguments: { [big]: 1 } } },
    { method: "prompts/get", params: { name: "test_simple_prompt", arguments: { [big]: 1 } } },
    { method: "tasks/update", params: { taskId: bench.victims.taskIds[0], inputResponses: { [big]: 1 } } },
    { body: `{${MEMBERS},"params":{"_meta":${META.slice(0, -1)},"progressToken":"${big}"}}}` },
    { body: `{${MEMBERS},"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"${big}"}}}` },
    {
      method: "completion/complete",
      params: { ref: { type: "ref/prompt", name: big }, argument: { name: "a", value: "" } },
    },
  ];
  for (const request of requests) {
    const { status, body } = await bench.send(request);
    expect({ status, body: body.slice(0, 4096) }).toMatchObject({ status: expect.toBeOneOf([200, 400]) });
    expect(body.length).toBeLessThan(4096);
  }
  expect(await bench.harm()).toEqual([]);
});

test("answers that nobody asked for do not make a call fail by their size with a server error", async () => {
  const inputResponses = { unasked: { action: "accept", content: { name: "x".repeat(200_000) } } };
  const response = await bench.send({
    method: "tools/call",
    params: { name: "test_input_required_result_elicitation", inputResponses },
  });
  expect({ status: response.status, error: errorOf(response) }).toMatchObject({
    status: 200,
    error: { code: -32602 },
  });
});

test("ten thousand answers to one task are taken or refused as any", async () => {
  const client = await bench.cluster.client({ tenant: "acme", principal: "mallory" });
  const taskId = await client.create("confirm_delete", { filename: "x" });
  await client.untilStatus(taskId, "input_required");
  const keys = Array.from({ length: 9_000 }, (_, n) => [`k${n}`, { action: "decline" }]);
  const reply = await client.post("tasks/update", { taskId, inputResponses: Object.fromEntries(keys) });
  expect({ status: reply.httpStatus, text: reply.text }).toMatchObject({ status: 200 });
  await client.cancel(taskId);
});

test("a listen that names a thousand tasks of others is told of none", async () => {
  const ids = Array.from({ length: 990 }, (_, n) =>
    n % 2 === 0 ? "__proto__".repeat(n / 10 + 1) : `A${n}`.padEnd(24, "b"),
  );
  const client = await bench.cluster.client({ tenant: "acme", principal: "mallory" });
  await using stream = await client.listen([...bench.victims.taskIds, ...ids]);
  expect(stream.acknowledged).toEqual([]);
  expect(bench.victims.leaksIn(stream.texts.join())).toEqual([]);
  const tooMany = await client.post("subscriptions/listen", { notifications: { taskIds: [...ids, ...ids] } });
  expect(tooMany).toMatchObject({ httpStatus: 200, error: { code: -32602 } });
});

test("strangers who know the ids of others' tasks change nothing and learn nothing", async () => {
  for (const taskId of bench.victims.taskIds) {
    for (const [method, more] of [
      ["tasks/get", {}],
      ["tasks/update", { inputResponses: { name: { action: "accept", content: { name: "Mallory" } } } }],
      ["tasks/cancel", {}],
    ] as const) {
      const response = await bench.send({ method, params: { taskId, ...more } });
      expectClean(response, bench.victims, bench.cluster.dir);
      expect(errorOf(response)).toMatchObject({ code: -32602, message: "Task not found" });
    }
  }
  expect(await bench.harm()).toEqual([]);
});
