import { type Cluster, type RedisCluster, startCluster, startRedisCluster, until } from "@perdure/testkit";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PROBE_TOOLS, accept, createProbe } from "../cluster/probe.ts";
import { createdId, expectAnswered, isSuccess, startAsking, untilReady, untilTroubled } from "./asking.ts";

/* A Redis Cluster of three nodes, tenants on all of them. One node is killed and comes back; nobody else notices. */

let redis: RedisCluster;
let cluster: Cluster;

beforeAll(async () => {
  redis = await startRedisCluster({ appendfsync: "everysec", requireFullCoverage: false });
  cluster = await startCluster({
    replicas: 2,
    workers: 1,
    redisUrl: redis.url,
    env: {
      PERDURE_TOOLS: PROBE_TOOLS,
      PERDURE_LEASE_MS: "2000",
      PERDURE_SHARDS: "6",
      // A killed process loses nothing of it.
      PERDURE_DURABILITY: "fast",
    },
  });
});
afterAll(async () => {
  await cluster?.stop();
  await redis?.stop();
});

/** The index of the node that has the task's record. */
async function nodeOf(taskId: string): Promise<number> {
  const keys = await Promise.all(
    redis.nodes.map(async ({ url }) => {
      const connection = new Redis(url);
      try {
        return await connection.keys(`*:t:*:${taskId}`);
      } finally {
        connection.disconnect();
      }
    }),
  );
  return keys.findIndex((found) => found.length > 0);
}

/** A tenant of each node, with a task that runs and one that waits for its second answer. */
async function tenantsOfNodes() {
  const tenants = new Map<number, string>();
  for (let index = 0; tenants.size < redis.nodes.length; index += 1) {
    const tenant = `tenant-${index}`;
    const client = await cluster.client({ tenant });
    tenants.set(await nodeOf(await client.create("ask_two", createProbe().args)), tenant);
  }
  return Promise.all(
    redis.nodes.map(async (_, node) => {
      const tenant = tenants.get(node)!;
      const client = await cluster.client({ tenant });
      const running = createProbe();
      const runs = await client.create("three_steps", running.args);
      await running.line("two begins");
      const parked = await client.create("ask_two", createProbe().args);
      await client.untilStatus(parked, "input_required");
      await client.update(parked, { name: accept("Ann") });
      const elsewhere = await cluster.client({ tenant, replica: 1 });
      return { client, elsewhere, running, runs, parked };
    }),
  );
}

test("a node of a Cluster is killed and started again: its tenants are told so meanwhile, the others are served, nothing is lost", async () => {
  const tenants = await tenantsOfNodes();
  const [hit, ...spared] = tenants;
  const clients = tenants.flatMap(({ client, elsewhere }) => [client, elsewhere]);
  await using stream = await hit!.elsewhere.listen([hit!.runs, hit!.parked]);

  await using asking = startAsking(clients);
  await until(() => asking.replies.length > clients.length, { what: "first answers" });
  await redis.nodes[0]!.kill();
  const killed = asking.replies.length;
  await untilTroubled(cluster, /shards \d/);

  // The others work on, with workers and questions, from beginning to end.
  for (const { client, parked, running, runs } of spared) {
    await client.update(parked, { colour: accept("red") });
    expect((await client.untilStatus(parked, "completed")).result?.content?.[0]?.text).toBe("Ann,red");
    running.open();
    await client.untilStatus(runs, "completed");
    await client.untilStatus(await client.create("ask_two", createProbe().args), "input_required");
  }
  const isHit = ({ client }: { client: unknown }): boolean =>
    client === hit!.client || client === hit!.elsewhere;
  await until(() => asking.replies.slice(killed).filter(isHit).length > 6, { what: "answers to the hit" });
  const during = asking.replies.slice(killed);
  // An answer may have been on its way when the node was killed.
  const refusals = during.filter(isHit).slice(4);
  expect(refusals.length).toBeGreaterThan(0);
  expect(refusals.some(isSuccess)).toBe(false);
  expect(during.filter((reply) => !isHit(reply) && !isSuccess(reply)).map(({ text }) => text)).toEqual([]);

  await redis.revive(redis.nodes[0]!);
  await untilReady(cluster);
  const back = asking.replies.length;
  await until(() => asking.replies.slice(back).filter(isHit).filter(isSuccess).length > 4, {
    what: "answers of the node that is back",
  });
  const replies = await asking.stop();
  expectAnswered(replies);

  // All that was acknowledged is there, and what was under way goes on where it was.
  const { client, elsewhere, parked, running, runs } = hit!;
  for (const taskId of replies.filter((reply) => reply.client === client).flatMap(createdId))
    await elsewhere.untilStatus(taskId, "input_required");
  await elsewhere.update(parked, { colour: accept("blue") });
  expect((await client.untilStatus(parked, "completed")).result?.content?.[0]?.text).toBe("Ann,blue");
  running.open();
  await client.untilStatus(runs, "completed");
  expect(running.count("one")).toBe(1);
  await stream.until(runs, "completed");
  await stream.until(parked, "completed");
});
