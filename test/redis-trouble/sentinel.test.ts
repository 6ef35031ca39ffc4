import { type Cluster, type RedisSentinel, startCluster, startRedisSentinel, until } from "@perdure/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PROBE_TOOLS, accept, createProbe } from "../cluster/probe.ts";
import { createdId, expectAnswered, isSuccess, startAsking, untilReady, untilTroubled } from "./asking.ts";

/* The master is killed; the Sentinels make a master of its replica, and everything goes on there. */

let sentinel: RedisSentinel;
let cluster: Cluster;

beforeAll(async () => {
  sentinel = await startRedisSentinel();
  cluster = await startCluster({
    replicas: 2,
    workers: 1,
    redisUrl: sentinel.url,
    env: { PERDURE_TOOLS: PROBE_TOOLS, PERDURE_LEASE_MS: "1000" },
  });
});
afterAll(async () => {
  await cluster?.stop();
  await sentinel?.stop();
});

test("a failover by Sentinels loses nothing that was replicated, is told meanwhile, and work goes on by itself", async () => {
  const clients = await Promise.all([0, 1].map((replica) => cluster.client({ replica })));
  const [first, second] = [clients[0]!, clients[1]!];
  const running = createProbe();
  const runs = await first.create("three_steps", running.args);
  await running.line("two begins");
  const parked = await first.create("ask_two", createProbe().args);
  await first.untilStatus(parked, "input_required");
  await first.update(parked, { name: accept("Ann") });
  await using stream = await second.listen([runs, parked]);
  await sentinel.replicated();

  await using asking = startAsking(clients);
  const before = sentinel.servers[0]!;
  await until(() => asking.replies.length > 0, { what: "a first answer" });
  await before.kill();
  await untilTroubled(cluster, /redis/i);
  await until(async () => (await sentinel.masterPort()) !== before.port, {
    what: "the failover",
    timeoutMs: 20_000,
  });
  await untilReady(cluster);
  const failedOver = asking.replies.length;
  await until(() => asking.replies.slice(failedOver).filter(isSuccess).length > 4, {
    what: "answers of the new master",
  });
  const replies = await asking.stop();
  expectAnswered(replies);
  expect(replies.some((reply) => !isSuccess(reply))).toBe(true);

  // What was replicated is there, and goes on; so does what was made since.
  await second.update(parked, { colour: accept("red") });
  expect((await first.untilStatus(parked, "completed")).result?.content?.[0]?.text).toBe("Ann,red");
  running.open();
  expect((await first.untilStatus(runs, "completed")).result?.content?.[0]?.text).toBe("attempt 1");
  expect(running.count("one")).toBe(1);
  await stream.until(runs, "completed");
  await stream.until(parked, "completed");
  for (const taskId of replies.slice(failedOver).flatMap(createdId))
    await second.untilStatus(taskId, "input_required");

  // The old master comes back as a replica, and nobody is led to it.
  await sentinel.revive(before);
  await sentinel.replicated();
  await untilReady(cluster);
  const last = await first.create("ask_two", createProbe().args);
  await second.untilStatus(last, "input_required");
  expect(await sentinel.masterPort()).not.toBe(before.port);
});
