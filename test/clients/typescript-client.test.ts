import { type Client, ProtocolError } from "@modelcontextprotocol/client";
import { type Cluster, startCluster, until } from "@perdure/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectClient, request } from "./connect-client.ts";

/* The official TypeScript client (`@modelcontextprotocol/client`), pinned to 2026-07-28, against two replicas. */

let cluster: Cluster;
let plain: Client;

beforeAll(async () => {
  cluster = await startCluster({ replicas: 2, workers: 1 });
  plain = await connectClient(cluster, {
    hasTasks: false,
    answer: (message) => (message.startsWith("Delete") ? { confirm: true } : { name: "Ann" }),
  });
});
afterAll(async () => {
  await plain?.close();
  await cluster?.stop();
});

/** The client has no result type for a task that a call became, so the call itself is made on the bare wire. */
async function createTask(name: string, args: Record<string, unknown>): Promise<string> {
  return (await cluster.client({ replica: 0 })).create(name, args);
}

test("connects by server/discover, in the modern era, and sees the extension", () => {
  expect(plain.getProtocolEra()).toBe("modern");
  expect(plain.getServerCapabilities()?.extensions).toEqual({ "io.modelcontextprotocol/tasks": {} });
});

test("lists every tool over all pages, in one order on every replica", async () => {
  const other = await connectClient(cluster, { replica: 1 });
  const { tools } = await plain.listTools();
  expect(tools.map(({ name }) => name)).toContain("generate_report");
  expect((await other.listTools()).tools).toEqual(tools);
  await other.close();
});

describe("a call", () => {
  test("of a synchronous tool", async () => {
    expect((await plain.callTool({ name: "greet", arguments: { name: "Ann" } })).content).toEqual([
      { type: "text", text: "Hello, Ann!" },
    ]);
  });

  test("that tells its progress", async () => {
    const seen: number[] = [];
    await plain.callTool(
      { name: "test_tool_with_progress", arguments: {} },
      { onprogress: ({ progress }) => void seen.push(progress) },
    );
    expect(seen).toEqual([0, 50, 100]);
  });

  test("that ends in a tool error gives a result", async () => {
    expect(await plain.callTool({ name: "test_error_handling", arguments: {} })).toMatchObject({
      isError: true,
    });
  });

  test("that is a protocol error throws it, with its code and data", async () => {
    await expect(plain.callTool({ name: "no_such_tool", arguments: {} })).rejects.toMatchObject({
      code: -32602,
    });
    const refused = plain.callTool({ name: "generate_report", arguments: { size: "small" } });
    await expect(refused).rejects.toBeInstanceOf(ProtocolError);
    await expect(refused).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
    });
  });

  test("that asks for one input, and for two in turn, is answered by the client's own handler", async () => {
    const one = await plain.callTool({ name: "test_input_required_result_elicitation", arguments: {} });
    expect(one.content).toEqual([{ type: "text", text: "Hello, Ann!" }]);
    const colours = await connectClient(cluster, {
      hasTasks: false,
      answer: (message) => (message.includes("color") ? { color: "green" } : { name: "Ann" }),
    });
    const two = await colours.callTool({ name: "test_input_required_result_multi_round", arguments: {} });
    expect(two.content).toEqual([{ type: "text", text: "Ann likes green" }]);
    await colours.close();
  });

  test("of a tool that runs as a durable task waits for it, when the client knows no tasks", async () => {
    const { content } = await plain.callTool({
      name: "slow_compute",
      arguments: { seconds: 0.1, label: "pi" },
    });
    expect(content).toEqual([{ type: "text", text: "Computed pi in 0.1 s" }]);
  });
});

describe("a task", () => {
  test("that a call became is told apart from a result", async () => {
    const client = await connectClient(cluster);
    await expect(
      client.callTool({ name: "generate_report", arguments: { size: "small" } }),
    ).rejects.toMatchObject({ code: "UNSUPPORTED_RESULT_TYPE", data: { resultType: "task" } });
    await client.close();
  });

  test("is pushed to its end through another replica: snapshot, question, completion", async () => {
    const client = await connectClient(cluster, { replica: 1 });
    const pushed: { status: string; result?: unknown }[] = [];
    client.fallbackNotificationHandler = ({ method, params }) => {
      if (method === "notifications/tasks") pushed.push({ status: "", ...params });
      return Promise.resolve();
    };
    const taskId = await createTask("generate_report", { size: "small" });
    const filter: object = { taskIds: [taskId] };
    const subscription = await client.listen(filter);
    await until(() => pushed.some(({ status }) => status === "input_required"), { what: "the question" });
    const inputResponses = { approve_outline: { action: "accept", content: { approved: true } } };
    expect(await request(client, "tasks/update", { taskId, inputResponses })).not.toHaveProperty("error");
    const end = await until(() => pushed.find(({ status }) => status === "completed"), { what: "the end" });
    expect(end.result).toMatchObject({ structuredContent: { size: "small", approved: true } });
    expect(await request(client, "tasks/get", { taskId })).toMatchObject({ status: "completed" });
    await subscription.close();
    expect(await subscription.closed).toBe("local");
    await client.close();
  });

  test("is cancelled through another replica; an unknown one is a protocol error", async () => {
    const client = await connectClient(cluster, { replica: 1 });
    const taskId = await createTask("multi_input", {});
    await request(client, "tasks/cancel", { taskId });
    expect(await request(client, "tasks/get", { taskId })).toMatchObject({ status: "cancelled" });
    await expect(request(client, "tasks/get", { taskId: "A".repeat(24) })).rejects.toMatchObject({
      code: -32602,
      message: "Task not found",
    });
    await client.close();
  });

  test("is no longer pushed by a replica that stops: the client sees a graceful end", async () => {
    const leaving = await cluster.startReplica();
    const client = await connectClient(cluster, { replica: cluster.replicas.indexOf(leaving) });
    const taskId = await createTask("multi_input", {});
    const filter: object = { taskIds: [taskId] };
    const subscription = await client.listen(filter);
    leaving.signal("SIGTERM");
    expect(await subscription.closed).toBe("graceful");
    expect(await leaving.exited).toBe(0);
    await client.close();
  });
});
