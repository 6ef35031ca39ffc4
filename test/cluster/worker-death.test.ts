import { type Cluster, type WireClient, startCluster, until } from "@perdure/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PROBE_TOOLS, type Probe, createProbe } from "./probe.ts";

/* Workers that die, freeze and wake up again. What was done is not done again, and the end is written once. */

const LEASE_MS = 1000;
/** I13: two leases and five seconds. */
const TAKEOVER_MS = 2 * LEASE_MS + 5000;

let cluster: Cluster;
let client: WireClient;

beforeAll(async () => {
  cluster = await startCluster({
    replicas: 1,
    workers: 1,
    env: { PERDURE_TOOLS: PROBE_TOOLS, PERDURE_LEASE_MS: String(LEASE_MS) },
  });
  client = await cluster.client();
});
beforeEach(async () => {
  await cluster.startWorker();
});
afterAll(() => cluster?.stop());

/** The worker that is in the middle of the second step. */
async function workerAt(probe: Probe) {
  const pid = Number((await probe.line("two begins")).split(" ").at(-1));
  const worker = cluster.workers.find((one) => one.pid === pid);
  if (!worker) throw new Error(`No worker has the process id ${pid}`);
  return worker;
}

const begins = (probe: Probe): readonly string[] =>
  probe.lines().filter((line) => line.startsWith("two begins"));

describe("I13: a worker that is killed in the middle of a step", () => {
  test("is followed by another, which runs no finished step again, and its death is no failure of the tool", async () => {
    const probe = createProbe();
    const taskId = await client.create("three_steps", probe.args);
    const worker = await workerAt(probe);
    worker.signal("SIGKILL");
    await worker.exited;
    await until(() => begins(probe).length === 2, {
      what: "another worker to begin the step again",
      timeoutMs: TAKEOVER_MS,
    });
    expect((await client.get(taskId)).status).toBe("working");
    probe.open();
    const task = await client.untilStatus(taskId, "completed");
    expect(task.result?.content).toEqual([{ type: "text", text: "attempt 1" }]);
    expect(probe.count("one")).toBe(1);
    expect(probe.count("two ends")).toBe(1);
    expect(probe.count("three")).toBe(1);
    expect(new Set(begins(probe)).size).toBe(2);
  });
});

describe("I3: a worker that is frozen past its lease and wakes up again", () => {
  test("writes nothing more: the task has the end that its successor gave it", async () => {
    const probe = createProbe();
    const taskId = await client.create("three_steps", probe.args);
    const frozen = await workerAt(probe);
    frozen.signal("SIGSTOP");
    try {
      await until(() => begins(probe).length === 2, {
        what: "another worker to begin the step again",
        timeoutMs: TAKEOVER_MS,
      });
      probe.open();
      await client.untilStatus(taskId, "completed");
    } finally {
      frozen.signal("SIGCONT");
    }
    const end = await client.post("tasks/get", { taskId }, { id: "end" });
    // Awake, it goes on in the step, and learns that the task is no longer its own.
    await until(() => probe.count("two ends") === 2, { what: "the frozen worker to go on" });
    await until(async () => /no longer this worker's|run stops/.test(await cluster.logOf(frozen)), {
      what: "the frozen worker to learn that it lost the task",
    });
    expect((await client.post("tasks/get", { taskId }, { id: "end" })).text).toBe(end.text);
    expect(probe.count("three")).toBe(1);

    const next = createProbe();
    next.open();
    await client.untilStatus(await client.create("three_steps", next.args), "completed");
  });
});
