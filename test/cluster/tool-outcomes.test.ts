import { type Cluster, type WireClient, startCluster, until } from "@perdure/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROBE_TOOLS, accept, createProbe } from "./probe.ts";

/* What becomes of a call, whatever the tool does and whatever the client can. */

const WITHOUT_TASKS = { elicitation: {} };

let cluster: Cluster;
let client: WireClient;
let plain: WireClient;

beforeAll(async () => {
  cluster = await startCluster({
    replicas: 1,
    workers: 1,
    env: { PERDURE_TOOLS: PROBE_TOOLS, PERDURE_LEASE_MS: "1000" },
  });
  client = await cluster.client();
  plain = await cluster.client({ capabilities: WITHOUT_TASKS });
});
afterAll(() => cluster?.stop());

describe("a tool that misbehaves ends its own task, and says so", () => {
  test("throws: tried again as its policy says, then failed, and its words stay in the log", async () => {
    const probe = createProbe();
    const task = await client.untilStatus(await client.create("throws", probe.args), "failed");
    expect(task.error).toEqual({ code: -32603, message: "The tool failed" });
    expect(JSON.stringify(task)).not.toContain("hunter2");
    expect(probe.lines()).toEqual(["attempt 1", "attempt 2"]);
    const [worker] = cluster.workers;
    expect(worker && (await cluster.logOf(worker))).toContain("hunter2");
  });

  test("reports an error: completed, with an error result", async () => {
    const task = await client.untilStatus(await client.create("failing_job", {}), "completed");
    expect(task.result).toMatchObject({ resultType: "complete", isError: true });
  });

  test("throws a protocol error: failed, with its code, message and data", async () => {
    const task = await client.untilStatus(await client.create("protocol_error_job", {}), "failed");
    expect(task.error).toEqual({
      code: -32603,
      message: "The job could not be served, as ever",
      data: { job: "protocol_error_job" },
    });
  });

  test("returns what its schema refuses: failed, and the path is named", async () => {
    const task = await client.untilStatus(await client.create("bad_result", {}), "failed");
    expect(task.error?.code).toBe(-32603);
    expect(task.error?.message).toContain("text");
  });

  test("returns 5 MB: failed, with the limit and how to raise it", async () => {
    const task = await client.untilStatus(await client.create("huge_result", {}), "failed");
    expect(task.error?.code).toBe(-32603);
    expect(task.error?.message).toContain("PERDURE_MAX_RESULT_BYTES");
    await expect(client.call("huge_call", {})).rejects.toMatchObject({ code: -32603 });
  });

  test("I10: never returns: expired at its ttl, listeners are told, and the worker goes on", async () => {
    const taskId = await client.create("never_returns", {});
    await using stream = await client.listen([taskId]);
    const pushed = await stream.until(taskId, "failed");
    expect(pushed.error).toEqual({ code: -32603, message: "Task has expired" });
    expect(pushed.statusMessage).toBe("Task has expired");
    expect(Date.parse(pushed.lastUpdatedAt) - Date.parse(pushed.createdAt)).toBeGreaterThanOrEqual(2000);
    await client.untilStatus(await client.create("who_calls", createProbe().args), "completed");
  });
});

describe("a tool that may become a task, called by a client without the extension", () => {
  test("runs as a durable task all the same, and the call waits for its result", async () => {
    const probe = createProbe();
    const call = plain.call("hold", probe.args);
    const pid = (await probe.line("runs")).split(" ").at(-1);
    expect(pid).toBe(String(cluster.workers[0]?.pid));
    probe.open();
    expect(await call).toMatchObject({
      resultType: "complete",
      content: [{ type: "text", text: "attempt 1" }],
    });
  });

  test("asks through the call, and goes on with the answers", async () => {
    const { args } = createProbe();
    const asked = await plain.call("ask_two", args);
    expect(asked.resultType).toBe("input_required");
    expect(Object.keys(asked.inputRequests ?? {})).toEqual(["name", "colour"]);
    const inputResponses = { name: accept("Ann"), colour: accept("red") };
    const ended = await plain.call("ask_two", args, { requestState: asked.requestState, inputResponses });
    expect(ended).toMatchObject({ resultType: "complete", content: [{ type: "text", text: "Ann,red" }] });
  });

  test("is cancelled when that client goes away", async () => {
    const probe = createProbe();
    const leaving = new AbortController();
    const call = plain.post(
      "tools/call",
      { name: "hold", arguments: probe.args },
      { signal: leaving.signal },
    );
    await probe.line("runs");
    leaving.abort();
    await expect(call).rejects.toThrow("aborted");
    expect(await probe.line("stopped")).toContain("cancelled");
    probe.open();
    await client.untilStatus(await client.create("who_calls", createProbe().args), "completed");
    expect(probe.count("ends")).toBe(0);
  });
});

test("a tool that is always a task is refused to a client without the extension, before anything starts", async () => {
  const probe = createProbe();
  const refused = await plain.post("tools/call", { name: "three_steps", arguments: probe.args });
  expect(refused.httpStatus).toBe(400);
  expect(refused.error).toMatchObject({
    code: -32021,
    data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
  });
  expect(probe.lines()).toEqual([]);
});

test("a tool that runs in the call is stopped when its client goes away", async () => {
  const probe = createProbe();
  const leaving = new AbortController();
  const call = client.post(
    "tools/call",
    { name: "hold_call", arguments: probe.args },
    { signal: leaving.signal },
  );
  await probe.line("runs");
  leaving.abort();
  await expect(call).rejects.toThrow("aborted");
  await probe.line("stopped");
});

test("a client that hangs up its listen stream leaves the task alone, and nothing behind", async () => {
  const probe = createProbe();
  const taskId = await client.create("hold", probe.args);
  await probe.line("runs");
  const stream = await client.listen([taskId]);
  await stream.close();
  const [replica] = cluster.replicas;
  await until(
    async () =>
      /^perdure_listeners(\{[^}]*\})? 0$/m.test(await (await fetch(`${replica?.opsUrl}/metrics`)).text()),
    { what: "the replica to have no listener" },
  );
  probe.open();
  const { result } = await client.untilStatus(taskId, "completed");
  expect(result?.content?.[0]?.text).toBe("attempt 1");
});
