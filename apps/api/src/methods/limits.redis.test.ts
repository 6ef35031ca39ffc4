import { createRedisTasks } from "@perdure/redis";
import type { RedisTasks } from "@perdure/redis";
import { startRedis } from "@perdure/testkit";
import type { RunningRedis } from "@perdure/testkit";
import { defineTool } from "@perdure/toolkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { startReplica } from "../bench-replica.ts";
import type { BenchReplica } from "../bench-replica.ts";
import { TASKS, call } from "../mcp-bench.ts";
import type { Ask, Response } from "../mcp-bench.ts";

const OFFERS = [
  defineTool({
    name: "report",
    description: "A durable one",
    input: z.object({ size: z.string().default("small") }),
    taskSupport: "required",
    run: ({ size }) => size,
  }),
];

let server: RunningRedis;
let tasks: RedisTasks;
let first: BenchReplica;
let second: BenchReplica;

beforeAll(async () => {
  server = await startRedis();
  tasks = createRedisTasks({
    redisUrl: server.url,
    leaseMs: 10_000,
    durability: "ephemeral",
    tenantMaxOpen: 2,
    principalRate: 5,
  });
  await tasks.start();
  await tasks.hints.start();
  first = await startReplica(tasks, OFFERS);
  second = await startReplica(tasks, OFFERS, { rates: tasks.rates });
});
afterAll(async () => {
  await Promise.all([first.api.stop(), second.api.stop()]);
  await tasks.stop();
  await server.stop();
});

function callReport(replica: BenchReplica, ask: Ask & { readonly size?: string } = {}): Promise<Response> {
  const { size, ...rest } = ask;
  const params = { name: "report", arguments: size === undefined ? {} : { size } };
  return call(replica.url, "tools/call", { params, capabilities: TASKS, ...rest });
}

const idOf = ({ message }: Response): string => message.result.taskId;

test("a tenant with too many open tasks gets 429 that says which limit and when to try again; another does not", async () => {
  for (let n = 0; n < 2; n += 1) expect((await callReport(first, { as: "full/alice" })).status).toBe(200);
  const refused = await callReport(first, { as: "full/alice" });
  expect(refused.status).toBe(429);
  expect(refused.headers["retry-after"]).toBe("5");
  expect(refused.message.error.message).toContain("2 open tasks");
  expect((await callReport(first, { as: "other/alice" })).status).toBe(200);
});

test("the same Idempotency-Key gives the same task from any replica, and another principal's is its own", async () => {
  const ask = { headers: { "idempotency-key": "order-7" }, as: "idem/alice" };
  const one = idOf(await callReport(first, ask));
  expect(idOf(await callReport(second, ask))).toBe(one);
  expect(idOf(await callReport(second, { ...ask, as: "idem/bob" }))).not.toBe(one);
});

test("the key in _meta is the same key as in the header", async () => {
  const one = await callReport(first, { headers: { "idempotency-key": "k" }, as: "meta/alice" });
  const two = await callReport(first, { meta: { "dev.perdure/idempotencyKey": "k" }, as: "meta/alice" });
  expect(idOf(two)).toBe(idOf(one));
});

test("the same Idempotency-Key with other arguments is a clear error, and makes nothing", async () => {
  const ask = { headers: { "idempotency-key": "k" }, as: "conflict/alice" };
  await callReport(first, ask);
  const { status, message } = await callReport(first, { ...ask, size: "large" });
  expect([status, message.error.code]).toEqual([200, -32602]);
  expect(message.error.message).toContain("other arguments");
});

test("without a key every call makes a task of its own", async () => {
  const ask = { as: "plain/alice" };
  expect(idOf(await callReport(first, ask))).not.toBe(idOf(await callReport(first, ask)));
});

test.each([
  ["two headers' worth", { "idempotency-key": "a b" }, {}],
  ["one that is too long", { "idempotency-key": "k".repeat(256) }, {}],
  ["one that is empty", { "idempotency-key": "" }, {}],
  ["a number", {}, { "dev.perdure/idempotencyKey": 7 }],
  ["a header and a member that differ", { "idempotency-key": "a" }, { "dev.perdure/idempotencyKey": "b" }],
])("a key that is no key is refused: %s", async (_, headers, meta) => {
  const { message } = await callReport(first, { headers, meta, as: "bad/alice" });
  expect(message.error.message).toContain("Idempotency-Key");
});

test("a principal over its request rate gets 429 that says so, on every replica that counts; another does not", async () => {
  const list = (as: string): Promise<Response> => call(second.url, "tools/list", { as });
  const replies = await Promise.all(Array.from({ length: 8 }, () => list("fast/alice")));
  const refused = replies.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThanOrEqual(2);
  expect(refused[0]?.message.error.message).toBe("Too many requests of this principal");
  expect(Number(refused[0]?.headers["retry-after"])).toBeGreaterThanOrEqual(1);
  expect((await list("fast/bob")).status).toBe(200);
});

test("a client that polls too fast is told an interval that grows", async () => {
  const as = "poller/alice";
  const taskId = idOf(await callReport(first, { as }));
  const intervals: number[] = [];
  for (let n = 0; n < 8; n += 1) {
    const { message } = await call(first.url, "tasks/get", { params: { taskId }, capabilities: TASKS, as });
    intervals.push(message.result.pollIntervalMs);
  }
  expect(intervals[0]).toBe(1000);
  expect(intervals.at(-1)).toBeGreaterThan(4000);
});
