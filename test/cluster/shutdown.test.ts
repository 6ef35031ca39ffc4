import { type Cluster, type WireClient, startCluster } from "@perdure/testkit";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROBE_TOOLS, accept, createProbe } from "./probe.ts";

/*
 * SIGTERM, as a rolling restart sends it. Leases are ten seconds here: whoever takes a task over sooner was given it.
 */

const LEASE_MS = 10_000;
const DRAIN_MS = 10_000;

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({
    replicas: 1,
    workers: 1,
    env: {
      PERDURE_TOOLS: PROBE_TOOLS,
      PERDURE_LEASE_MS: String(LEASE_MS),
      PERDURE_DRAIN_MS: String(DRAIN_MS),
    },
  });
});
afterAll(() => cluster?.stop());

/** When a role logged a line, in milliseconds. */
function timeOf(log: string, message: string): number {
  const line = log.split("\n").find((one) => one.includes(`"msg":"${message}`));
  if (line === undefined) throw new Error(`The log has no line "${message}"`);
  return Date.parse(JSON.parse(line).time);
}

describe("I16: SIGTERM of a worker in the middle of a task", () => {
  test("gives the lease back within a second, and another goes on without counting an attempt or a crash", async () => {
    const client = await cluster.client();
    const redis = new Redis(cluster.redis.url);
    const probe = createProbe();
    const taskId = await client.create("hold", probe.args);
    const [leaving] = cluster.workers;
    await probe.line(`runs ${leaving?.pid}`);
    const staying = await cluster.startWorker();

    leaving?.signal("SIGTERM");
    await probe.line(`runs ${staying.pid}`);
    expect(await probe.line("stopped")).toContain("shutdown");
    expect(await leaving?.exited).toBe(0);
    const log = leaving ? await cluster.logOf(leaving) : "";
    const toldAt = timeOf(log, "Stopping");
    // A second, and another for a busy machine; a lease that is lost takes ten.
    expect(timeOf(log, "The task was given back") - toldAt).toBeLessThan(2000);
    // Who waits for work is told at once, not when it looks for itself.
    expect(timeOf(await cluster.logOf(staying), "The task runs") - toldAt).toBeLessThan(LEASE_MS / 2);
    expect((await client.get(taskId)).status).toBe("working");
    const [key = ""] = await redis.keys(`*:t:*:${taskId}`);
    expect(await redis.hmget(key, "failures", "crashes", "epoch")).toEqual(["0", "0", "2"]);
    redis.disconnect();

    probe.open();
    const { result } = await client.untilStatus(taskId, "completed");
    expect(result?.content?.[0]?.text).toBe("attempt 1");
  });
});

describe("I16: SIGTERM of a replica", () => {
  test("ends listen streams with a result, answers what is in hand, and hands waiting calls on", async () => {
    const leaving = await cluster.startReplica();
    const at = cluster.replicas.indexOf(leaving);
    const onLeaving = await cluster.client({ replica: at });
    const onStaying = await cluster.client({ replica: 0 });
    const plain = { capabilities: { elicitation: {} } };
    const [waiting, next] = await Promise.all([
      cluster.client({ replica: at, ...plain }),
      cluster.client({ replica: 0, ...plain }),
    ]);

    const listened = await onStaying.create("ask_two", createProbe().args);
    await onStaying.untilStatus(listened, "input_required");
    await using stream = await onLeaving.listen([listened]);
    const inHand = createProbe();
    const synchronous = onLeaving.call("hold_call", inHand.args);
    const waited = createProbe();
    const call = waiting.call("hold", waited.args);
    await Promise.all([inHand.line("runs"), waited.line("runs")]);

    leaving.signal("SIGTERM");
    expect(await stream.ended).toBe("result");
    expect(stream.messages.at(-1)).toMatchObject({ id: "listen-0", result: { resultType: "complete" } });
    inHand.open();
    expect((await synchronous).content?.[0]?.text).toBe("held");
    const handedOn = await call;
    expect(handedOn.resultType).toBe("input_required");
    expect(handedOn.inputRequests ?? {}).toEqual({});
    const answeredAt = performance.now();
    expect(await leaving.exited).toBe(0);
    // Nothing is in hand any more: it does not sit out its drain time.
    expect(performance.now() - answeredAt).toBeLessThan(DRAIN_MS / 2);

    // The client comes back with the state, and another replica waits on for the same task.
    waited.open();
    const ended = await next.call("hold", waited.args, { requestState: handedOn.requestState });
    expect(ended.content?.[0]?.text).toBe("attempt 1");
    expect(waited.lines().filter((line) => line.startsWith("runs"))).toHaveLength(1);
    // And the task of the stream is where it was.
    await onStaying.update(listened, { name: accept("Ann"), colour: accept("red") });
    await onStaying.untilStatus(listened, "completed");
  });

  test("refuses no request of a client that sends them one after another and takes the other replica next", async () => {
    const leaving = await cluster.startReplica();
    const clients: WireClient[] = [
      await cluster.client({ replica: 0 }),
      await cluster.client({ replica: cluster.replicas.indexOf(leaving) }),
    ];
    const statuses: number[] = [];
    const gone = new AbortController();
    // As a load balancer does: a connection that is refused or closed before an answer is tried at the other one.
    const ask = async (at: number): Promise<void> => {
      for (const client of at % 2 > 0 ? clients : clients.toReversed()) {
        try {
          const { httpStatus } = await client.post("tools/call", { name: "greet", arguments: { name: "x" } });
          statuses.push(httpStatus);
          return;
        } catch {
          // The next one.
        }
      }
      statuses.push(0);
    };
    const asking = Promise.all(
      [0, 1, 2, 3].map(async (start) => {
        for (let at = start; !gone.signal.aborted; at += 1) await ask(at);
      }),
    );
    leaving.signal("SIGTERM");
    expect(await leaving.exited).toBe(0);
    gone.abort();
    await asking;
    expect(statuses.length).toBeGreaterThan(0);
    expect(new Set(statuses)).toEqual(new Set([200]));
  });
});
