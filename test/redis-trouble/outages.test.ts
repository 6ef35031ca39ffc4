import { setTimeout as delay } from "node:timers/promises";
import {
  type Cluster,
  type RunningRedis,
  type WireClient,
  startCluster,
  startRedis,
  until,
} from "@perdure/testkit";
import { Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { PROBE_TOOLS, accept, createProbe } from "../cluster/probe.ts";
import {
  ANSWER_MS,
  type TimedReply,
  ask,
  burst,
  expectAnswered,
  isSuccess,
  memoryMb,
  timed,
  untilReady,
  untilTroubled,
} from "./asking.ts";
import { type SlowLink, startSlowLink } from "./start-slow-link.ts";

/* One replica, one worker and one Redis, to which all that can be wrong with a Redis is done in turn. */

/** How long Redis stays gone; 30 in the full form. */
const GONE_MS = Number(process.env["PERDURE_TEST_GONE_SECONDS"] ?? 6) * 1000;
const BURST = { requests: 200, atOnce: 20 };
const LONG_BURST = { requests: 500, atOnce: 20 };
/** Where each answer takes as long as a step may. */
const SLOW_BURST = { requests: 40, atOnce: 10 };
/** What 500 requests into an outage may add to a replica's memory. */
const GROWTH_MB = 64;

let redis: RunningRedis;
let link: SlowLink;
let cluster: Cluster;
let client: WireClient;

beforeAll(async () => {
  redis = await startRedis({ appendfsync: "always" });
  link = await startSlowLink(redis.port);
  cluster = await startCluster({
    replicas: 1,
    workers: 1,
    redisUrl: link.url,
    env: {
      PERDURE_TOOLS: PROBE_TOOLS,
      PERDURE_LEASE_MS: "1000",
      PERDURE_DURABILITY: "durable",
      // Asked in Redis at each request: one step more that can be late.
      PERDURE_PRINCIPAL_RATE: "100000",
    },
  });
  client = await cluster.client();
});
afterAll(async () => {
  await cluster?.stop();
  await link?.[Symbol.asyncDispose]();
  await redis?.stop();
});

// What one test has broken and not mended is not the next one's trouble.
afterEach(async () => {
  link.setDelay(0);
  await operate("REPLICAOF", "NO", "ONE");
  await operate("CONFIG", "SET", "maxmemory", "0", "maxmemory-policy", "noeviction");
  await untilReady(cluster);
  await untilAdmitted();
});

/** New work is admitted within half a second of there being room: a replica asks Redis for its memory that often. Gives a new task. */
const untilAdmitted = (): Promise<string> =>
  until(() => client.create("ask_two", createProbe().args).catch(() => undefined), {
    what: "new work to be admitted",
  });

/** Speaks to Redis past the link, as an operator. */
async function operate(...words: readonly [string, ...string[]]): Promise<unknown> {
  const operator = new Redis(redis.url);
  try {
    const [command, ...args] = words;
    return await operator.call(command, args);
  } finally {
    operator.disconnect();
  }
}

/** Work that is under way: a task that runs, one that waits for its second answer, and a stream of both. */
async function startWork() {
  const probe = createProbe();
  const runs = await client.create("three_steps", probe.args);
  await probe.line("two begins");
  const parked = await client.create("ask_two", createProbe().args);
  await client.untilStatus(parked, "input_required");
  await client.update(parked, { name: accept("Ann") });
  const toCancel = await client.create("ask_two", createProbe().args);
  const stream = await client.listen([runs, parked]);
  return { probe, runs, parked, toCancel, stream };
}

/** What was under way goes on where it was, and new work begins: all by itself. */
async function expectResumed({ probe, runs, parked, stream }: Awaited<ReturnType<typeof startWork>>) {
  await untilReady(cluster);
  await client.update(parked, { colour: accept("red") });
  expect((await client.untilStatus(parked, "completed")).result?.content?.[0]?.text).toBe("Ann,red");
  probe.open();
  expect((await client.untilStatus(runs, "completed")).result?.content?.[0]?.text).toBe("attempt 1");
  expect(probe.count("one")).toBe(1);
  expect(probe.count("three")).toBe(1);
  await stream.until(runs, "completed");
  await stream.until(parked, "completed");
  await stream.close();
  await client.untilStatus(await untilAdmitted(), "input_required");
}

/** Sends the burst, and holds the replica to its memory meanwhile. */
async function burstIn(load = BURST): Promise<readonly TimedReply[]> {
  const { pid } = cluster.replicas[0]!;
  const beforeMb = await memoryMb(pid);
  const replies = await burst(client, load);
  expect((await memoryMb(pid)) - beforeMb).toBeLessThan(GROWTH_MB);
  expectAnswered(replies);
  return replies;
}

/** Opens a stream and closes it, or is refused by the store; in time. */
async function expectListenAnswered(taskId: string): Promise<void> {
  const askedAt = performance.now();
  const refusal = await client.listen([taskId]).then(
    (stream) => stream.close().then(() => undefined),
    (error: unknown) => String(error),
  );
  expect(performance.now() - askedAt).toBeLessThan(ANSWER_MS);
  expect(refusal ?? "HTTP 503").toContain("HTTP 503");
}

/** One request of each kind. */
const ofEachKind = (taskId: string, toCancel: string): Promise<readonly TimedReply[]> =>
  Promise.all([
    timed(client, ask),
    timed(client, () => client.post("tasks/get", { taskId })),
    timed(client, () => client.post("tasks/update", { taskId, inputResponses: { no: accept("no") } })),
    timed(client, () => client.post("tasks/cancel", { taskId: toCancel })),
  ]);

test("full: what would fill it is refused, what reads is served, and all goes on once there is room", async () => {
  const work = await startWork();
  const used = /used_memory:(\d+)/.exec(String(await operate("INFO", "memory")))?.[1];
  await operate("CONFIG", "SET", "maxmemory", String(Math.floor(Number(used) * 0.9)));
  await untilTroubled(cluster, /is full/);
  expect((await burstIn()).filter(isSuccess)).toEqual([]);
  expect((await client.get(work.parked)).status).toBe("input_required");
  await operate("CONFIG", "SET", "maxmemory", "0");
  await expectResumed(work);
});

test("read-only: writes are refused, reads are served, and all goes on once it is a master again", async () => {
  const work = await startWork();
  await operate("REPLICAOF", "127.0.0.1", "1");
  await untilTroubled(cluster, /replica/);
  expect((await burstIn()).filter(isSuccess)).toEqual([]);
  await operate("REPLICAOF", "NO", "ONE");
  await expectResumed(work);
});

test("a policy that would throw tasks away: said on /readyz with what mends it, and no role starts on it", async () => {
  const mend = /redis-cli CONFIG SET maxmemory-policy noeviction/;
  await operate("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
  await untilTroubled(cluster, mend);
  await Promise.all([
    expect(cluster.startReplica()).rejects.toThrow(mend),
    expect(cluster.startWorker()).rejects.toThrow(mend),
  ]);
  await operate("CONFIG", "SET", "maxmemory-policy", "noeviction");
  await untilReady(cluster);
});

test("slow: every answer comes in time, with what Redis said or without", async () => {
  const work = await startWork();
  for (const delayMs of [600, 5000]) {
    link.setDelay(delayMs);
    const listening = expectListenAnswered(work.parked);
    const replies = await ofEachKind(work.parked, work.toCancel);
    expect(replies).toHaveLength(4);
    expectAnswered(replies);
    await listening;
  }
  await untilTroubled(cluster, /redis/i);
  link.setDelay(0);
  await expectResumed(work);
});

test("silent: a paused Redis is answered for in time, and used again when it wakes", async () => {
  const work = await startWork();
  await operate("CLIENT", "PAUSE", "4000", "ALL");
  const troubled = untilTroubled(cluster, /redis/i);
  expect((await burstIn(SLOW_BURST)).filter(isSuccess).length).toBeLessThan(SLOW_BURST.requests);
  await troubled;
  await expectResumed(work);
});

test(
  "gone: told in time to 500 requests, in bounded memory, and all goes on by itself when it is back",
  async () => {
    const work = await startWork();
    const { port, dir } = redis;
    await redis.kill();
    const back = delay(GONE_MS);
    try {
      await untilTroubled(cluster, /redis/i);
      expect((await burstIn(LONG_BURST)).filter(isSuccess)).toEqual([]);
      await back;
    } finally {
      redis = await startRedis({ appendfsync: "always", port, dir });
    }
    await expectResumed(work);
  },
  GONE_MS + 30_000,
);

test("restarted: nobody has to do anything", async () => {
  const work = await startWork();
  const { port, dir } = redis;
  await redis.kill();
  redis = await startRedis({ appendfsync: "always", port, dir });
  await expectResumed(work);
  expect((await client.get(work.toCancel)).status).toBe("input_required");
});
