import { createRedisTasks } from "@perdure/redis";
import type { RedisTasks } from "@perdure/redis";
import { startRedis, until } from "@perdure/testkit";
import type { RunningRedis } from "@perdure/testkit";
import { mintTaskId, tenantRefOf } from "@perdure/tasks";
import { defineTool } from "@perdure/toolkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { startReplica } from "../bench-replica.ts";
import type { BenchReplica } from "../bench-replica.ts";
import { handsOn } from "../bench-tasks.ts";
import { TASKS, begin, call } from "../mcp-bench.ts";
import type { Response } from "../mcp-bench.ts";

const OFFERS = [
  defineTool({
    name: "report",
    description: "A task",
    input: z.object({ size: z.string().optional() }),
    taskSupport: "required",
    ttl: "5m",
    run: () => "done",
  }),
  defineTool({
    name: "brief",
    description: "Lives a moment",
    taskSupport: "required",
    ttl: 1,
    run: () => "done",
  }),
];

let redis: RunningRedis;
let stores: readonly RedisTasks[];
let replicas: readonly BenchReplica[];

beforeAll(async () => {
  redis = await startRedis();
  const options = { redisUrl: redis.url, leaseMs: 10_000, durability: "ephemeral", retentionMs: 1 } as const;
  stores = [createRedisTasks(options), createRedisTasks(options)];
  for (const store of stores) {
    await store.start();
    await store.hints.start();
  }
  replicas = await Promise.all(stores.map((store) => startReplica(store, OFFERS)));
});
afterAll(async () => {
  for (const { api } of replicas) await api.stop();
  for (const store of stores) await store.stop();
  await redis.stop();
});

const url = (index: 0 | 1): string => replicas[index]!.url;
const hands = (): ReturnType<typeof handsOn> => handsOn(stores[0]!.leases, "acme");
const create = async (name = "report", as = "acme/alice"): Promise<string> => {
  const { message } = await call(url(0), "tools/call", {
    params: { name, arguments: {} },
    capabilities: TASKS,
    as,
  });
  return message.result.taskId;
};
// oxlint-disable-next-line max-params -- where, what, about what, and as whom
const ask = (at: 0 | 1, method: string, params: object, as = "acme/alice"): Promise<Response> =>
  call(url(at), method, { params, capabilities: TASKS, as });

describe("a task is the same on every replica", () => {
  test("created on the first, read, answered and cancelled on the second", async () => {
    const created = await ask(0, "tools/call", { name: "report", arguments: { size: "large" } });
    const { taskId, ...handle } = created.message.result;
    expect(handle).toMatchObject({
      resultType: "task",
      status: "working",
      ttlMs: 300_000,
      pollIntervalMs: 1000,
    });
    expect(handle).not.toHaveProperty("result");
    const got = await ask(1, "tasks/get", { taskId });
    expect(got.message.result).toEqual({ ...handle, taskId, resultType: "complete" });

    const claimed = await hands().claim(taskId);
    expect(JSON.parse(claimed.params)).toMatchObject({ name: "report", arguments: { size: "large" } });
    expect(claimed).toMatchObject({
      owner: { tenant: "acme", principal: "alice" },
      capabilities: JSON.stringify(TASKS),
    });
    await hands().ask(claimed.claim, "first", "second");
    const waiting = await ask(1, "tasks/get", { taskId });
    expect(waiting.message.result).toMatchObject({ status: "input_required" });
    expect(Object.keys(waiting.message.result.inputRequests)).toEqual(["first", "second"]);

    const answer = (at: 0 | 1, key: string): Promise<Response> =>
      ask(at, "tasks/update", {
        taskId,
        inputResponses: { [key]: { action: "accept", content: {} }, nobody: {} },
      });
    const first = await answer(1, "first");
    expect(first.message.result).toEqual({ resultType: "complete", _meta: expect.anything() });
    expect(Object.keys((await ask(0, "tasks/get", { taskId })).message.result.inputRequests)).toEqual([
      "second",
    ]);
    await answer(0, "second");
    expect((await ask(1, "tasks/get", { taskId })).message.result.status).toBe("working");

    const cancelled = await ask(1, "tasks/cancel", { taskId });
    expect(cancelled.message.result).toEqual({ resultType: "complete", _meta: expect.anything() });
    expect((await ask(0, "tasks/get", { taskId })).message.result.status).toBe("cancelled");
    const again = await ask(0, "tasks/cancel", { taskId });
    expect(again.message.result.resultType).toBe("complete");
  });

  test("its end is read as it was written", async () => {
    const completed = await create();
    await hands().complete((await hands().claim(completed)).claim, "fine");
    expect((await ask(1, "tasks/get", { taskId: completed })).message.result).toMatchObject({
      status: "completed",
      result: { content: [{ type: "text", text: "fine" }], resultType: "complete" },
    });
    const failed = await create();
    const error = { code: -32603, message: "no luck", data: [] };
    await hands().fail((await hands().claim(failed)).claim, error);
    expect((await ask(1, "tasks/get", { taskId: failed })).message.result).toMatchObject({
      status: "failed",
      error,
    });
  });

  test.each([{ first: 5 }, { first: null }, { first: [] }])(
    "the answers %j are -32602",
    async (inputResponses) => {
      const { message } = await ask(0, "tasks/update", { taskId: await create(), inputResponses });
      expect(message.error.code).toBe(-32602);
    },
  );
});

describe("I8: a stranger learns nothing", () => {
  const STRANGERS = ["globex/alice", "acme/bob"];

  test.each(STRANGERS)(
    "for %s a real, an unknown and a malformed id are the same bytes on all four verbs",
    async (as) => {
      const real = await create();
      const { claim } = await hands().claim(real);
      await hands().ask(claim, "k");
      const ids = [real, mintTaskId(), "malformed id", "", "../../etc", `${real} `];
      const verbs = [
        (taskId: string) => ask(1, "tasks/get", { taskId }, as),
        (taskId: string) =>
          ask(1, "tasks/update", { taskId, inputResponses: { k: { action: "accept" } } }, as),
        (taskId: string) => ask(1, "tasks/cancel", { taskId }, as),
      ];
      for (const verb of verbs) {
        const answers = await Promise.all(ids.map(verb));
        expect(new Set(answers.map(({ text }) => text))).toEqual(
          new Set(['{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Task not found"}}']),
        );
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
        const shapes = answers.map(({ headers: { date: _d, "x-request-id": _r, ...rest } }) =>
          JSON.stringify(rest),
        );
        expect(new Set(shapes).size).toBe(1);
      }
      const listens = ids.map((taskId) =>
        begin(url(1), "subscriptions/listen", {
          params: { notifications: { taskIds: [taskId] } },
          capabilities: TASKS,
          as,
        }),
      );
      for (const listen of listens) await listen.opened;
      await ask(0, "tasks/update", { taskId: real, inputResponses: { k: { action: "accept" } } });
      await ask(0, "tasks/cancel", { taskId: real });
      expect((await ask(0, "tasks/get", { taskId: real })).message.result.status).toBe("cancelled");
      for (const listen of listens) {
        expect(listen.messages).toHaveLength(1);
        expect(listen.messages[0]?.params.notifications).toEqual({});
        listen.hangUp();
      }
    },
  );

  test("the owner's answers differ from a stranger's", async () => {
    const taskId = await create();
    expect((await ask(0, "tasks/get", { taskId })).message.result.status).toBe("working");
    expect((await ask(0, "tasks/get", { taskId }, "acme/bob")).message.error.code).toBe(-32602);
  });

  test("only the owner learns that a task has expired", async () => {
    const taskId = await create("brief");
    await until(
      async () =>
        (await stores[0]!.due.expire({ tenantRef: tenantRefOf("acme"), taskId })).verdict === "removed",
      { what: "the task is removed" },
    );
    const own = await ask(1, "tasks/get", { taskId });
    expect(own.message.error).toEqual({ code: -32602, message: "Task has expired" });
    const foreign = await ask(1, "tasks/get", { taskId }, "acme/bob");
    expect(foreign.message.error).toEqual({ code: -32602, message: "Task not found" });
  });
});

test("when Redis is gone every answer is 503 within 2 s, with Retry-After, and it comes back by itself", async () => {
  const own = await startRedis();
  const store = createRedisTasks({ redisUrl: own.url, leaseMs: 10_000, durability: "ephemeral" });
  await store.start();
  await store.hints.start();
  const replica = await startReplica(store, OFFERS);
  await own.kill();
  const started = performance.now();
  const requests: Readonly<Record<string, object>> = {
    "tools/call": { name: "report" },
    "tasks/get": { taskId: mintTaskId() },
    "tasks/update": { taskId: mintTaskId(), inputResponses: {} },
    "tasks/cancel": { taskId: mintTaskId() },
    "subscriptions/listen": { notifications: { taskIds: [mintTaskId()] } },
  };
  const answers = await Promise.all(
    Object.entries(requests).map(([method, params]) =>
      call(replica.url, method, { params, capabilities: TASKS }),
    ),
  );
  expect(performance.now() - started).toBeLessThan(2000);
  for (const { status, headers, message } of answers) {
    expect([status, message.id, message.error.code]).toEqual([503, 1, -32603]);
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
    expect(message.error.message).toContain("task store");
  }
  expect(replica.api.counts()).toEqual({ tenants: 0, tasks: 0, watchers: 0, streams: 0, calls: 0 });
  expect((await call(replica.url, "tools/list")).status).toBe(200);

  const back = await startRedis({ port: own.port });
  await until(
    async () => {
      const { status } = await call(replica.url, "tools/call", {
        params: { name: "report" },
        capabilities: TASKS,
      });
      return status === 200;
    },
    { what: "the replica serves again" },
  );
  await replica.api.stop();
  await store.stop();
  await back.stop();
});
