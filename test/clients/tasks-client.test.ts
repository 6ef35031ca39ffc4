import {
  TaskCancelledError,
  TaskFailedError,
  type SerializedTaskReference,
  createApplicationInputHandler,
  resultFromTaskOutcome,
} from "@modelcontextprotocol/ext-tasks/client";
import { type Cluster, startCluster } from "@perdure/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ConnectedSession, connectSession } from "./connect-client.ts";

/* The official tasks client (`@modelcontextprotocol/ext-tasks`) against two replicas. */

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster({ replicas: 2, workers: 1, env: { PERDURE_POLL_INTERVAL_MS: "100" } });
});
afterAll(() => cluster?.stop());

/** Answers a form by the words of its question, declines every other, and keeps what was asked. */
function answering(answers: Readonly<Record<string, Readonly<Record<string, string | boolean>>>>) {
  const asked: string[] = [];
  const onInputRequest = createApplicationInputHandler({
    elicitation({ params }) {
      const message = JSON.stringify(params["message"]);
      asked.push(message);
      const content = Object.entries(answers).find(([words]) => message.includes(words))?.[1];
      return content ? { action: "accept", content } : { action: "decline" };
    },
    sampling: () => Promise.reject(new Error("No tool here samples")),
    roots: () => ({ roots: [] }),
  });
  return { asked, onInputRequest };
}

const connect = (options: Parameters<typeof connectSession>[1] = {}): Promise<ConnectedSession> =>
  connectSession(cluster, options);

test("negotiates the extension, and offers what it has: known handles, cancellation, input", async () => {
  await using connected = await connect();
  expect(connected.session.capabilities).toMatchObject({
    inventory: "known-handles",
    execution: true,
    cancellation: true,
    inputResponses: true,
  });
});

describe("calls", () => {
  test("a synchronous tool: an immediate result", async () => {
    await using connected = await connect();
    const execution = await connected.session.callTool("greet", { name: "Ann" });
    expect(execution.kind).toBe("immediate");
    expect(resultFromTaskOutcome(await execution.result())).toMatchObject({
      content: [{ type: "text", text: "Hello, Ann!" }],
    });
  });

  test("a tool error: a result, immediate or of a task", async () => {
    await using connected = await connect();
    for (const tool of ["test_error_handling", "failing_job"]) {
      const execution = await connected.session.callTool(tool, {});
      const { outcome } = await execution.settle();
      expect(outcome).toMatchObject({ status: "completed", result: { isError: true } });
    }
  });

  test("a protocol error: of the call, and of a task with its code and data", async () => {
    await using connected = await connect();
    await expect(connected.session.callTool("no_such_tool", {})).rejects.toMatchObject({ code: -32602 });
    const execution = await connected.session.callTool("protocol_error_job", {});
    const { outcome } = await execution.settle();
    expect(outcome.status).toBe("failed");
    expect(() => resultFromTaskOutcome(outcome)).toThrow(TaskFailedError);
    expect(outcome).toMatchObject({
      error: {
        code: -32603,
        message: "The job could not be served, as ever",
        data: { job: "protocol_error_job" },
      },
    });
  });
});

describe("a task", () => {
  test("asks for one input on its way, and completes with the answer", async () => {
    const { asked, onInputRequest } = answering({ Approve: { approved: true } });
    await using connected = await connect({ onInputRequest });
    const execution = await connected.session.callTool("generate_report", { size: "small" });
    expect(execution.kind).toBe("task");
    const states: string[] = [];
    const { outcome } = await execution.settle({
      onEvent: (event) => void (event.type === "task" && states.push(event.task.status)),
    });
    expect(resultFromTaskOutcome(outcome)).toMatchObject({
      structuredContent: { size: "small", approved: true },
    });
    expect(asked).toEqual(['"Approve the generated report outline?"']);
    expect(states).toContain("input_required");
    expect(new Set(connected.sent)).toEqual(new Set(["tools/call", "tasks/get", "tasks/update"]));
  });

  test("asks for two inputs at once, and gets both", async () => {
    const { asked, onInputRequest } = answering({ name: { name: "Ann" }, "Go on": { confirm: true } });
    await using connected = await connect({ onInputRequest });
    const execution = await connected.session.callTool("multi_input", {});
    const { outcome } = await execution.settle();
    expect(resultFromTaskOutcome(outcome)).toMatchObject({
      content: [{ type: "text", text: "Answers: accept, accept" }],
    });
    expect(asked.toSorted()).toEqual(['"Go on?"', '"What is your name?"']);
  });

  test("begins after a question that the call itself asked", async () => {
    const { asked, onInputRequest } = answering({ name: { name: "Ann" } });
    await using connected = await connect({ onInputRequest });
    const execution = await connected.session.callTool("test_tool_with_task", {});
    expect(execution.kind).toBe("task");
    const { outcome } = await execution.settle();
    expect(resultFromTaskOutcome(outcome)).toMatchObject({
      content: [{ type: "text", text: "Hello, Ann!" }],
    });
    expect(asked).toEqual(['"What is your name?"']);
  });

  test("is cancelled while it runs, and the client is told so", async () => {
    await using connected = await connect();
    const execution = await connected.session.callTool("slow_compute", { seconds: 600 });
    await execution.cancel();
    const { outcome } = await execution.settle();
    expect(outcome.status).toBe("cancelled");
    expect(() => resultFromTaskOutcome(outcome)).toThrow(TaskCancelledError);
  });

  test("is handed off by one session and resumed by another, through another replica", async () => {
    let reference: SerializedTaskReference | undefined;
    {
      await using first = await connect({ replica: 0 });
      const execution = await first.session.callTool("generate_report", { size: "small" });
      if (execution.kind !== "task") throw new Error("The call became no task");
      await execution.handoff((kept) => {
        reference = JSON.parse(JSON.stringify(kept));
      });
      // Until this it is the session's own, and a session that closes cancels what is its own.
      await execution.result();
    }
    if (reference === undefined) throw new Error("There is no reference");
    const { asked, onInputRequest } = answering({ Approve: { approved: true } });
    await using second = await connect({ replica: 1, onInputRequest });
    const resumed = await second.session.resumeTask(reference);
    expect(resumed.kind === "task" && resumed.serializeReference()).toEqual(reference);
    const { outcome } = await resumed.settle();
    expect(resultFromTaskOutcome(outcome)).toMatchObject({
      structuredContent: { size: "small", approved: true },
    });
    expect(asked).toEqual(['"Approve the generated report outline?"']);
    // Once more, after its end.
    await using third = await connect({ replica: 0 });
    const again = await third.session.resumeTask(reference);
    expect((await again.settle()).outcome).toMatchObject({ status: "completed" });
  });

  test("of another caller cannot be resumed", async () => {
    await using owner = await connect();
    const execution = await owner.session.callTool("multi_input", {});
    if (execution.kind !== "task") throw new Error("The call became no task");
    await using stranger = await connect({ principal: "bob" });
    await expect(stranger.session.resumeTask(execution.serializeReference())).rejects.toMatchObject({
      code: -32602,
    });
    await execution.cancel();
  });
});

test("a completion is pushed: the session hears of it long before it would poll", async () => {
  // On this replica a client is asked to poll once in ten minutes.
  const replica = cluster.replicas.indexOf(
    await cluster.startReplica({ PERDURE_POLL_INTERVAL_MS: "600000" }),
  );
  await using connected = await connect({ replica });
  const execution = await connected.session.callTool("slow_compute", { seconds: 1 });
  if (execution.kind !== "task") throw new Error("The call became no task");
  const filter: object = { taskIds: [execution.handle.taskId] };
  const subscription = await connected.client.listen(filter);
  const { outcome } = await execution.settle();
  expect(resultFromTaskOutcome(outcome)).toMatchObject({
    content: [{ type: "text", text: "Computed something in 1 s" }],
  });
  expect(connected.sent).toEqual(["tools/call"]);
  await subscription.close();
});
