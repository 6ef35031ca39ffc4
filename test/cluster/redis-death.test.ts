import { type Cluster, type WireClient, type WireReply, startCluster, until } from "@perdure/testkit";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { PROBE_TOOLS, accept, createProbe } from "./probe.ts";

/* Redis is killed in the middle of everything, and comes back on the same data (AOF, each write on disk before its reply). */

// It outlives an outage and what comes after.
vi.setConfig({ testTimeout: 60_000 });

/** What a client may wait for an answer while Redis is gone. */
const ANSWER_MS = 2000;

let cluster: Cluster;
let first: WireClient;
let second: WireClient;

beforeAll(async () => {
  cluster = await startCluster({
    replicas: 2,
    workers: 1,
    redis: { appendfsync: "always" },
    env: { PERDURE_TOOLS: PROBE_TOOLS, PERDURE_LEASE_MS: "1000" },
  });
  first = await cluster.client({ replica: 0 });
  second = await cluster.client({ replica: 1 });
});
afterAll(() => cluster?.stop());

async function readiness(opsUrl: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(`${opsUrl}/readyz`);
  return { status: response.status, text: await response.text() };
}

/** Creates tasks without a pause until the first refusal, and notes the ids that were acknowledged. */
async function createUntilRefused(client: WireClient, acknowledged: string[]): Promise<void> {
  for (;;) {
    const { result } = await client.post("tools/call", {
      name: "ask_two",
      arguments: createProbe().args,
    });
    if (typeof result?.["taskId"] !== "string") return;
    acknowledged.push(result["taskId"]);
  }
}

async function timed(reply: Promise<WireReply>): Promise<WireReply & { readonly tookMs: number }> {
  const askedAt = performance.now();
  return { ...(await reply), tookMs: performance.now() - askedAt };
}

test("I1, I7: kill -9 of Redis loses nothing that was acknowledged, is told at once, and work goes on by itself after it", async () => {
  const running = createProbe();
  const runs = await first.create("three_steps", running.args);
  await running.line("two begins");
  const done = await first.create("who_calls", createProbe().args);
  await first.untilStatus(done, "completed");
  const doneText = (await first.post("tasks/get", { taskId: done }, { id: "done" })).text;
  const parked = await first.create("ask_two", createProbe().args);
  await first.untilStatus(parked, "input_required");
  await first.update(parked, { name: accept("Ann") });
  await using stream = await second.listen([runs, parked]);

  // Killed while clients create tasks through both replicas.
  const acknowledged: string[] = [];
  const creating = Promise.all(
    [first, first, second, second].map((client) => createUntilRefused(client, acknowledged)),
  );
  await until(() => acknowledged.length > 0, { what: "a task that was created" });
  await cluster.redis.kill();
  await creating;

  const outage = { name: "ask_two", arguments: createProbe().args };
  const replies = await Promise.all(
    [first, second].flatMap((client) => [
      timed(client.post("tasks/get", { taskId: parked })),
      timed(client.post("tasks/update", { taskId: parked, inputResponses: { colour: accept("red") } })),
      timed(client.post("tasks/cancel", { taskId: parked })),
      timed(client.post("tools/call", outage)),
      timed(client.post("subscriptions/listen", { notifications: { taskIds: [parked] } })),
    ]),
  );
  for (const { httpStatus, headers, error, tookMs } of replies) {
    expect(tookMs).toBeLessThan(ANSWER_MS);
    expect(httpStatus).toBe(503);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    expect(error?.code).toBe(-32603);
  }
  // What needs no Redis is served all the same.
  expect((await first.call("greet", { name: "Ann" })).content?.[0]?.text).toBe("Hello, Ann!");
  for (const role of [...cluster.replicas, ...cluster.workers]) {
    const { status, text } = await readiness(role.opsUrl);
    expect({ role: role.name, status }).toEqual({ role: role.name, status: 503 });
    expect(text).toMatch(/redis/i);
    expect((await fetch(`${role.opsUrl}/livez`)).status).toBe(200);
  }

  await cluster.restartRedis();
  for (const role of [...cluster.replicas, ...cluster.workers])
    await until(async () => (await readiness(role.opsUrl)).status === 200, {
      what: `${role.name} to be ready again`,
      timeoutMs: 15_000,
    });
  for (const taskId of acknowledged) expect((await second.get(taskId)).taskId).toBe(taskId);
  expect((await second.post("tasks/get", { taskId: done }, { id: "done" })).text).toBe(doneText);

  // The answer of before counts, and the task runs on with the other one.
  await second.update(parked, { colour: accept("red") });
  expect((await first.untilStatus(parked, "completed")).result?.content?.[0]?.text).toBe("Ann,red");

  // The run that was cut goes on by itself, without its finished step; and so do the tasks that were just created.
  running.open();
  expect((await first.untilStatus(runs, "completed", 20_000)).result?.content?.[0]?.text).toBe("attempt 1");
  expect(running.count("one")).toBe(1);
  expect(running.count("three")).toBe(1);
  for (const taskId of acknowledged) await second.untilStatus(taskId, "input_required", 20_000);

  // A stream that was open all the while has the ends too.
  await stream.until(runs, "completed");
  await stream.until(parked, "completed");
});
