import { createHash } from "node:crypto";
import { type Cluster, type WireClient, startCluster, until } from "@perdure/testkit";
import { createMetrics } from "@perdure/runtime";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROBE_TOOLS, createProbe } from "../cluster/probe.ts";
import { type Collector, type SeenSpan, startCollector } from "./collector.ts";

/* What an operator sees of replicas and workers: metrics, traces, and logs that join on both their ids. */

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const CLIENT_SPAN = "00f067aa0ba902b7";
const meta = { traceparent: `00-${TRACE_ID}-${CLIENT_SPAN}-01`, tracestate: "vendor=1" };

let collector: Collector;
let cluster: Cluster;
let client: WireClient;

beforeAll(async () => {
  collector = await startCollector();
  cluster = await startCluster({
    replicas: 1,
    workers: 1,
    env: {
      PERDURE_TOOLS: PROBE_TOOLS,
      PERDURE_LEASE_MS: "1000",
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: "100",
    },
  });
  client = await cluster.client();
});
afterAll(async () => {
  await cluster?.stop();
  await collector?.[Symbol.asyncDispose]();
});

/** Calls a tool, whose task's id it gives. */
async function callTraced(name: string, args: object, headers = meta): Promise<string> {
  const reply = await client.post("tools/call", { name, arguments: args }, { meta: headers });
  return String(reply.result?.["taskId"]);
}

async function spansOf(taskId: string, count: number): Promise<readonly SeenSpan[]> {
  const seen = (): readonly SeenSpan[] =>
    collector.spans.filter(
      ({ name, attributes }) => attributes["perdure.task.id"] === taskId && !name.startsWith("tasks/"),
    );
  await until(() => seen().length >= count, { what: `${count} spans of ${taskId}`, timeoutMs: 15_000 });
  return seen();
}

async function linesOf(role: Cluster["workers"][number]): Promise<readonly Record<string, unknown>[]> {
  const log = await cluster.logOf(role);
  return log
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));
}

describe("a call with a traceparent", () => {
  test("is one trace from the client through the replica to the worker, and tells no argument and no token", async () => {
    const probe = createProbe();
    probe.open();
    const taskId = await callTraced("three_steps", probe.args);
    await client.untilStatus(taskId, "completed");
    const [request, run] = await spansOf(taskId, 2);
    expect(request).toMatchObject({
      name: "tools/call three_steps",
      service: "perdure-api",
      kind: 2,
      traceId: TRACE_ID,
      parentSpanId: CLIENT_SPAN,
      attributes: {
        "mcp.method.name": "tools/call",
        "mcp.protocol.version": "2026-07-28",
        "gen_ai.tool.name": "three_steps",
        "gen_ai.operation.name": "execute_tool",
      },
    });
    expect(run).toMatchObject({
      name: "execute_tool three_steps",
      service: "perdure-worker",
      kind: 5,
      traceId: TRACE_ID,
      parentSpanId: request?.spanId,
      attributes: { "perdure.task.epoch": 1, "perdure.run.outcome": "completed" },
      links: [],
    });
    const told = collector.bodies.join("\n");
    expect(told).not.toContain(probe.args.file);
    expect(told).not.toContain("eyJ");
    expect(told).not.toContain("acme");
  });

  test("has its trace id in the log lines of its task, in the replica and in the worker", async () => {
    const probe = createProbe();
    probe.open();
    const taskId = await callTraced("three_steps", probe.args);
    await client.untilStatus(taskId, "completed");
    const joined = { taskId, trace_id: TRACE_ID };
    expect(await linesOf(cluster.replicas[0]!)).toContainEqual(
      expect.objectContaining({ ...joined, method: "tools/call" }),
    );
    expect(await linesOf(cluster.workers[0]!)).toContainEqual(
      expect.objectContaining({ ...joined, msg: "The task ended" }),
    );
  });

  test("that is refused is a span with the error's code", async () => {
    await client.post("tools/call", { name: "no_such_tool", arguments: {} }, { meta });
    const failed = (): SeenSpan | undefined => collector.spans.find(({ isError }) => isError);
    await until(() => failed() !== undefined, { what: "the span of a refused call" });
    expect(failed()).toMatchObject({
      name: "tools/call",
      attributes: { "error.type": "-32602", "rpc.response.status_code": "-32602" },
    });
  });
});

test("a call without a traceparent begins a trace, which its task is in too", async () => {
  const probe = createProbe();
  probe.open();
  const taskId = await client.create("three_steps", probe.args);
  const [request, run] = await spansOf(taskId, 2);
  expect(request?.parentSpanId ?? "").toBe("");
  expect(run).toMatchObject({ traceId: request?.traceId, parentSpanId: request?.spanId });
});

test("a replica with OTEL_SDK_DISABLED sends nothing, and its logs still carry the client's trace id", async () => {
  const off = await cluster.startReplica({ OTEL_SDK_DISABLED: "true", OTEL_SERVICE_NAME: "off" });
  const quiet = await cluster.client({ replica: 1 });
  await quiet.post("tools/list", {}, { meta });
  await off.stop();
  expect(await linesOf(off)).toContainEqual(
    expect.objectContaining({ method: "tools/list", trace_id: TRACE_ID }),
  );
  expect(collector.spans.map(({ service }) => service)).not.toContain("off");
});

test("after a worker's death the next run links to the run that it goes on from, and every metric has moved", async () => {
  const worker = cluster.workers[0]!;
  const scrape = async (): Promise<string> => {
    const texts = [cluster.replicas[0]!, cluster.workers.at(-1)!].map(async ({ opsUrl }) =>
      (await fetch(`${opsUrl}/metrics`)).text(),
    );
    return (await Promise.all(texts)).join("\n");
  };
  const probe = createProbe();
  const taskId = await callTraced("three_steps", probe.args);
  await probe.line("two begins");
  worker.signal("SIGKILL");
  await worker.exited;
  await cluster.startWorker();
  await until(() => probe.lines().filter((line) => line.startsWith("two begins")).length === 2, {
    what: "another worker to begin",
    timeoutMs: 15_000,
  });

  // Held in the middle of a run, a second one cancelled under its worker, a third one waiting for a person, a fourth one
  // that the reconciler wakes for another attempt, and a listener.
  await using stream = await client.listen([taskId]);
  const parked = await client.create("generate_report", { size: "small" });
  await client.untilStatus(parked, "input_required");
  const cancelled = createProbe();
  const cancelledId = await client.create("hold", cancelled.args);
  await cancelled.line("runs");
  await client.cancel(cancelledId);
  await cancelled.line("stopped");

  await client.untilStatus(await client.create("throws", cancelled.args), "failed");

  const families = createMetrics({ role: "api" })
    .registry.getMetricsAsArray()
    .map(({ name }) => name);
  const ours = families.filter((name) => name.startsWith("perdure_"));
  const unmoved = async (): Promise<readonly string[]> => {
    const text = await scrape();
    return ours.filter((name) => !new RegExp(`^${name}(?:_count)?(?:\\{[^}]*\\})? (?!0$)`, "m").test(text));
  };
  let left: readonly string[] = ours;
  await until(async () => (left = await unmoved()).length === 0, {
    what: "every metric to move",
    timeoutMs: 15_000,
  }).catch((error: unknown) => {
    throw new Error(`These have not moved: ${left.join(", ")}`, { cause: error });
  });
  const text = await scrape();
  expect(text).toMatch(/perdure_queue_depth\{kind="parked",role="api"\} 1/);
  expect(text).toMatch(/perdure_queue_depth\{kind="running",role="worker"\} 1/);
  expect(text).toMatch(/perdure_task_transitions_total\{to="working",role="api"\}/);
  expect(text).not.toMatch(/tenant|acme|alice/);

  probe.open();
  await until(() => stream.tasks.some(({ status }) => status === "completed"), { what: "the end" });
  const runs = (await spansOf(taskId, 2)).filter(({ service }) => service === "perdure-worker");
  expect(runs).toHaveLength(1);
  expect(runs[0]).toMatchObject({ traceId: TRACE_ID, attributes: { "perdure.task.epoch": 2 } });
  const first = createHash("sha256").update(`${taskId}:1`).digest("hex").slice(0, 16);
  expect(runs[0]?.links).toEqual([first]);
});
