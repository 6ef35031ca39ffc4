import { createRedisTasks } from "@perdure/redis";
import type { RedisTasks } from "@perdure/redis";
import { startRedis, until } from "@perdure/testkit";
import type { RunningRedis } from "@perdure/testkit";
import { mintTaskId } from "@perdure/tasks";
import type { HintSource } from "@perdure/tasks";
import { defineTool } from "@perdure/toolkit";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { startReplica } from "../bench-replica.ts";
import type { BenchReplica } from "../bench-replica.ts";
import { handsOn } from "../bench-tasks.ts";
import { TASKS, begin, call } from "../mcp-bench.ts";
import type { Ask, Exchange, Message } from "../mcp-bench.ts";

const REPORT = defineTool({
  name: "report",
  description: "A task",
  taskSupport: "required",
  run: () => "done",
});
const NOTHING = { tenants: 0, tasks: 0, watchers: 0, streams: 0, calls: 0 };

let redis: RunningRedis;
let first: RedisTasks;
let second: RedisTasks;
let replicas: readonly [BenchReplica, BenchReplica];
const open: Exchange[] = [];

beforeAll(async () => {
  redis = await startRedis();
  const options = { redisUrl: redis.url, leaseMs: 10_000, durability: "ephemeral" } as const;
  first = createRedisTasks(options);
  second = createRedisTasks(options);
  for (const store of [first, second]) {
    await store.start();
    await store.hints.start();
  }
  replicas = [await startReplica(first, [REPORT]), await startReplica(second, [REPORT])];
});
afterEach(async () => {
  for (const exchange of open.splice(0)) exchange.hangUp();
  for (const { api } of replicas)
    await until(() => JSON.stringify(api.counts()) === JSON.stringify(NOTHING), {
      what: "nothing is left behind",
    });
});
afterAll(async () => {
  for (const { api } of replicas) await api.stop();
  for (const store of [first, second]) await store.stop();
  await redis.stop();
});

const create = async (url = replicas[0].url): Promise<string> => {
  const { message } = await call(url, "tools/call", { params: { name: "report" }, capabilities: TASKS });
  return message.result.taskId;
};
const listen = (url: string, taskIds: readonly string[], ask: Ask = {}): Exchange => {
  const params = { notifications: { taskIds, toolsListChanged: true } };
  const exchange = begin(url, "subscriptions/listen", { id: "sub", capabilities: TASKS, params, ...ask });
  open.push(exchange);
  return exchange;
};
const received = (exchange: Exchange, count: number): Promise<readonly Message[]> =>
  until(() => exchange.messages.length >= count && exchange.messages, { what: `${count} messages` });
const statuses = (exchange: Exchange): unknown[] =>
  exchange.messages.slice(1).map(({ params }) => params.status);

describe("subscriptions/listen", () => {
  test("acknowledges the caller's own ids in their order, then tells each snapshot, then every change made anywhere", async () => {
    const [one, two] = [await create(), await create()];
    const exchange = listen(replicas[1].url, [two, mintTaskId(), "malformed", one, two]);
    const { headers } = await exchange.opened;
    expect(headers).toMatchObject({ "content-type": "text/event-stream", "x-accel-buffering": "no" });
    const [acknowledged, ...snapshots] = await received(exchange, 3);
    const meta = { "io.modelcontextprotocol/subscriptionId": "sub" };
    expect(acknowledged).toEqual({
      jsonrpc: "2.0",
      method: "notifications/subscriptions/acknowledged",
      params: { _meta: meta, notifications: { taskIds: [two, one] } },
    });
    expect(snapshots.map(({ params }) => params.taskId)).toEqual([two, one]);

    const worker = handsOn(first.leases, "acme");
    const { claim } = await worker.claim(one);
    await worker.say(claim, "half way");
    await until(() => exchange.messages.at(-1)?.params.statusMessage === "half way", { what: "the message" });
    await worker.ask(claim, "approve");
    await until(() => exchange.messages.at(-1)?.params.status === "input_required", { what: "the question" });
    await call(replicas[0].url, "tasks/update", {
      params: { taskId: one, inputResponses: { approve: { action: "accept", content: {} } } },
      capabilities: TASKS,
    });
    await worker.complete((await worker.claim(one)).claim, "fine");
    await until(() => exchange.messages.at(-1)?.params.status === "completed", { what: "the end" });
    await call(replicas[0].url, "tasks/cancel", { params: { taskId: two }, capabilities: TASKS });
    await until(() => exchange.messages.at(-1)?.params.status === "cancelled", { what: "the cancel" });

    for (const taskId of [one, two]) {
      const got = await call(replicas[0].url, "tasks/get", { params: { taskId }, capabilities: TASKS });
      const { resultType: _type, _meta: _identity, ...task } = got.message.result;
      const told = exchange.messages.findLast(({ params }) => params.taskId === taskId);
      expect(told).toEqual({
        jsonrpc: "2.0",
        method: "notifications/tasks",
        params: { _meta: meta, ...task },
      });
    }
    for (const message of exchange.messages) expect(message.params._meta).toEqual(meta);
    const times = exchange.messages
      .filter(({ params }) => params.taskId === one)
      .map(({ params }) => params.lastUpdatedAt);
    expect(times).toEqual(inOrder(times));
  });

  test("a number stays a number as the subscription's id", async () => {
    const exchange = listen(replicas[0].url, [], { id: 7 });
    const [acknowledged] = await received(exchange, 1);
    expect(acknowledged?.params).toEqual({
      _meta: { "io.modelcontextprotocol/subscriptionId": 7 },
      notifications: {},
    });
  });

  test("what there is no support for is not acknowledged, and needs no extension", async () => {
    const exchange = listen(replicas[0].url, [], {
      capabilities: {},
      params: { notifications: { promptsListChanged: true, resourceSubscriptions: ["a://b"] } },
    });
    expect((await received(exchange, 1))[0]?.params.notifications).toEqual({});
  });

  test("an Accept without a stream is 406; too many ids are -32602", async () => {
    const { status } = await listen(replicas[0].url, [], { headers: { accept: "application/json" } })
      .response;
    expect(status).toBe(406);
    const { message } = await listen(replicas[0].url, Array.from({ length: 1001 }, mintTaskId)).response;
    expect(message.error.code).toBe(-32602);
  });

  test("a change that comes while the stream opens is never missed", async () => {
    const worker = handsOn(first.leases, "acme");
    for (let round = 0; round < 20; round += 1) {
      const taskId = await create();
      const { claim } = await worker.claim(taskId);
      const exchange = listen(replicas[1].url, [taskId]);
      await worker.complete(claim, "fine");
      await until(() => statuses(exchange).at(-1) === "completed", { what: "the end", timeoutMs: 3000 });
      expect(statuses(exchange).length).toBeLessThanOrEqual(2);
      exchange.hangUp();
    }
  });

  test("a thousand listeners and tasks leave nothing behind", async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => create()));
    const streams = Array.from({ length: 100 }, () => listen(replicas[1].url, ids));
    for (const stream of streams) await received(stream, 21);
    expect(replicas[1].api.counts()).toEqual({
      tenants: 1,
      tasks: 20,
      watchers: 2000,
      streams: 100,
      calls: 0,
    });
  });
});

describe("I14: without a single hint", () => {
  test("each open listener gets the end within the resync time", async () => {
    const deaf: HintSource = { ...first.hints, listen: async () => () => {}, onReconnect: () => () => {} };
    const replica = await startReplica({ ...first, hints: deaf }, [REPORT], { limits: { resyncMs: 600 } });
    const taskId = await create();
    const streams = [listen(replica.url, [taskId]), listen(replica.url, [taskId])];
    for (const stream of streams) await received(stream, 2);
    const worker = handsOn(first.leases, "acme");
    await worker.complete((await worker.claim(taskId)).claim, "fine");
    const started = performance.now();
    for (const stream of streams)
      await until(() => statuses(stream).at(-1) === "completed", { what: "the end" });
    expect(performance.now() - started).toBeLessThan(1200);
    await replica.api.stop();
  });
});

describe("a stream ends gracefully, with the result of the listen request", () => {
  const graceful = {
    jsonrpc: "2.0",
    id: "sub",
    result: {
      resultType: "complete",
      _meta: {
        "io.modelcontextprotocol/serverInfo": { name: "perdure", version: "0.0.0-test" },
        "io.modelcontextprotocol/subscriptionId": "sub",
      },
    },
  };

  test("when the replica stops", async () => {
    const replica = await startReplica(first, [REPORT]);
    const exchange = listen(replica.url, [await create()]);
    await received(exchange, 2);
    await replica.api.stop();
    expect((await exchange.response).message).toEqual(graceful);
  });

  test("when the token expires", async () => {
    const exchange = listen(replicas[0].url, [await create()], { as: `acme/alice@${Date.now() + 300}` });
    expect((await exchange.response).message).toEqual(graceful);
  });

  test("when it is old", async () => {
    const replica = await startReplica(first, [REPORT], {
      limits: { listenMaxAgeMs: 300, keepAliveMs: 200 },
    });
    const exchange = listen(replica.url, []);
    expect((await exchange.response).message).toEqual(graceful);
    await replica.api.stop();
  });
});

test("a quiet stream is kept alive by comments", async () => {
  const replica = await startReplica(first, [REPORT], { limits: { keepAliveMs: 60 } });
  const exchange = listen(replica.url, []);
  await until(() => exchange.comments.length > 2, { what: "comments" });
  expect(exchange.messages).toHaveLength(1);
  exchange.hangUp();
  await replica.api.stop();
});

test("a client that reads nothing is dropped, and costs no more than ids until then", async () => {
  const replica = await startReplica(first, [REPORT], { limits: { keepAliveMs: 100 } });
  const ids = await Promise.all(Array.from({ length: 60 }, () => create()));
  const worker = handsOn(first.leases, "acme");
  const exchange = listen(replica.url, ids);
  (await exchange.opened).pause();
  for (const taskId of ids) await worker.complete((await worker.claim(taskId)).claim, "x".repeat(300_000));
  await until(() => replica.api.counts().streams === 0, { what: "the stream is dropped" });
  expect(replica.api.counts()).toEqual(NOTHING);
  await replica.api.stop();
});

test("a client that reads slowly gets the latest of each task, and never goes back", async () => {
  const ids = await Promise.all(Array.from({ length: 100 }, () => create()));
  const worker = handsOn(first.leases, "acme");
  const exchange = listen(replicas[0].url, ids);
  const incoming = await exchange.opened;
  incoming.pause();
  for (const taskId of ids) {
    const { claim } = await worker.claim(taskId);
    for (let part = 0; part < 3; part += 1) await worker.say(claim, `${part}${"x".repeat(900)}`);
    await worker.complete(claim, "x".repeat(20_000));
  }
  incoming.resume();
  const last = (): Map<string, string> =>
    new Map(exchange.messages.slice(1).map(({ params }) => [params.taskId, params.status]));
  await until(() => last().size === 100 && [...last().values()].every((status) => status === "completed"), {
    what: "the end of every task",
  });
  for (const taskId of ids) {
    const mine = exchange.messages.filter(({ params }) => params.taskId === taskId);
    const times = mine.map(({ params }) => params.lastUpdatedAt);
    expect(times).toEqual(inOrder(times));
    expect(mine.filter(({ params }) => params.status === "completed")).toHaveLength(1);
  }
});

function inOrder(times: readonly string[]): string[] {
  return times.toSorted((a, b) => (a < b ? -1 : 1));
}
