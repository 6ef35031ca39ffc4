import { setTimeout as delay } from "node:timers/promises";
import { until } from "@perdure/testkit";
import type { WireClient } from "@perdure/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ComposeCluster, startComposeCluster } from "./compose-cluster.ts";
import { startSteadyLoad } from "./steady-load.ts";

/*
 * The local cluster of docker-compose.yml, as an operator runs it. The tests share one cluster, in order.
 */

let cluster: ComposeCluster;
let client: WireClient;

beforeAll(async () => {
  cluster = await startComposeCluster();
  client = await cluster.client();
}, 300_000);
afterAll(() => cluster?.[Symbol.asyncDispose](), 60_000);

const APPROVED = { approve_outline: { action: "accept", content: { approved: true } } };

test("docker compose up serves through the balancer: a task is created, answered and completed", async () => {
  expect(await cluster.containers("api")).toHaveLength(3);
  expect(await cluster.containers("worker")).toHaveLength(2);
  const taskId = await client.create("generate_report", { size: "small" });
  await client.untilStatus(taskId, "input_required", 30_000);
  await client.update(taskId, APPROVED);
  const task = await client.untilStatus(taskId, "completed", 30_000);
  expect(task.result?.structuredContent).toEqual({ size: "small", approved: true });
});

test("containers run as nobody special, on a root file system that cannot be written", async () => {
  for (const service of ["api", "worker", "redis", "balancer"] as const) {
    const [container = ""] = await cluster.containers(service);
    expect(await cluster.docker("exec", container, "id", "-u")).not.toBe("0");
    await expect(cluster.docker("exec", container, "touch", "/usr/planted")).rejects.toThrow(/Read-only/);
  }
});

test("a replica that is killed in the middle of a stream costs the stream alone: another replica gives it anew, to the end", async () => {
  const taskId = await client.create("slow_compute", { seconds: 8, label: "streamed" });
  const stream = await client.listen([taskId]);
  for (const replica of await cluster.containers("api")) {
    await cluster.docker("kill", "-s", "KILL", replica);
    if (await Promise.race([stream.ended.then(() => true), delay(1500, false)])) break;
    await cluster.docker("start", replica);
    await cluster.healthy(replica);
  }
  expect(await stream.ended).toBe("lost");
  expect((await client.untilStatus(taskId, "completed", 60_000)).status).toBe("completed");
  await cluster.scale({ api: 3, worker: 2 });
});

test("Redis is restarted: what was acknowledged is there, work goes on by itself", async () => {
  const waiting = await client.create("generate_report", { size: "small" });
  await client.untilStatus(waiting, "input_required", 30_000);
  const running = await client.create("slow_compute", { seconds: 5, label: "across a restart" });
  const [redis = ""] = await cluster.containers("redis");
  await cluster.docker("restart", "-t", "5", redis);
  await cluster.healthy(redis);
  await until(async () => (await client.post("tasks/get", { taskId: waiting })).result !== undefined, {
    what: "the replicas to be back",
    timeoutMs: 30_000,
  });
  expect((await client.get(waiting)).status).toBe("input_required");
  await client.update(waiting, APPROVED);
  await client.untilStatus(waiting, "completed", 60_000);
  await client.untilStatus(running, "completed", 60_000);
});

test("a replica that is cut off from Redis is taken out by the balancer, and taken back", async () => {
  await until(async () => (await cluster.balancedReplicas()) === 3, {
    what: "three replicas",
    timeoutMs: 60_000,
  });
  const [replica = ""] = await cluster.containers("api");
  {
    await using _cut = await cluster.cutOffFromRedis(replica);
    await until(async () => (await cluster.balancedReplicas()) === 2, {
      what: "it to be out",
      timeoutMs: 60_000,
    });
    const replies = await Promise.all(Array.from({ length: 30 }, () => client.post("tools/list", {})));
    expect(replies.map(({ httpStatus }) => httpStatus)).toEqual(replies.map(() => 200));
  }
  await until(async () => (await cluster.balancedReplicas()) === 3, {
    what: "it to be back",
    timeoutMs: 60_000,
  });
});

test("the cluster is scaled up to five replicas and three workers and down again under load, and no request fails", async () => {
  const load = startSteadyLoad(client, 8);
  await cluster.scale({ api: 5, worker: 3 });
  await until(async () => (await cluster.balancedReplicas()) === 5, {
    what: "five replicas",
    timeoutMs: 60_000,
  });
  await cluster.scale({ api: 3, worker: 2 });
  await until(async () => (await cluster.balancedReplicas()) === 3, {
    what: "three replicas",
    timeoutMs: 60_000,
  });
  const figures = await load.stop();
  expect(figures).toMatchObject({ failures: [], lost: [] });
});

test("I16: every role is restarted in turn under load: no request fails and no task is lost", async () => {
  const load = startSteadyLoad(client, 12);
  for (const service of ["api", "worker"] as const) {
    for (const container of await cluster.containers(service)) {
      await cluster.docker("stop", "-t", "30", container);
      await cluster.docker("start", container);
      await cluster.healthy(container);
      if (service === "api") {
        await until(async () => (await cluster.balancedReplicas()) === 3, {
          what: "it to be back",
          timeoutMs: 60_000,
        });
      }
    }
  }
  const { requests, failures, created, completed, lost } = await load.stop();
  console.log(
    `rolling restart: ${requests} requests sent, ${failures.length} failed; ` +
      `${created} tasks created, ${completed} completed, ${lost.length} lost`,
  );
  expect(failures).toEqual([]);
  expect(lost).toEqual([]);
  expect(completed).toBe(created);
  expect(created).toBeGreaterThan(50);
});
