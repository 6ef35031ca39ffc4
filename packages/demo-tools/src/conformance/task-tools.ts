import { setTimeout as delay } from "node:timers/promises";
import { ProtocolError, TaskCancelled, ToolError, defineTool } from "@perdure/toolkit";
import { z } from "zod";

/* What the official suite's `tasks-*` scenarios call. */

const confirmation = z.object({ confirm: z.boolean() });
const named = z.object({ name: z.string() });

/** Answers in the call, never as a task. */
export const greet = defineTool({
  name: "greet",
  description: "Says hello to a name.",
  input: z.object({ name: z.string() }),
  run: ({ name }) => `Hello, ${name}!`,
});

/** A task where the client can take one. It holds a worker for `seconds`, and stops at once when it is cancelled. */
export const slowCompute = defineTool({
  name: "slow_compute",
  description: "Computes for the given number of seconds.",
  input: z.object({ seconds: z.number().min(0).max(3600), label: z.string().optional() }),
  taskSupport: "optional",
  async run({ seconds, label }, task) {
    await task.progress(`Computing for ${seconds} s`);
    await task.step("compute", async (signal) => {
      await delay(seconds * 1000, undefined, { signal });
    });
    return `Computed ${label ?? "something"} in ${seconds} s`;
  },
});

/** Ends as `completed` with `isError: true`. */
export const failingJob = defineTool({
  name: "failing_job",
  description: "Fails after a second, with an error that a model can read.",
  taskSupport: "required",
  async run(_, task) {
    await task.step("try", async (signal) => {
      await delay(1000, undefined, { signal });
    });
    throw new ToolError("The job failed, as it always does");
  },
});

/** Ends as `failed` with a JSON-RPC error. */
export const protocolErrorJob = defineTool({
  name: "protocol_error_job",
  description: "Fails with a JSON-RPC error.",
  taskSupport: "required",
  run() {
    throw new ProtocolError(-32603, "The job could not be served, as ever", { job: "protocol_error_job" });
  },
});

/** Waits for one answer. */
export const confirmDelete = defineTool({
  name: "confirm_delete",
  description: "Asks before it deletes a file. It deletes nothing.",
  input: z.object({ filename: z.string() }),
  taskSupport: "required",
  annotations: { destructiveHint: true },
  async run({ filename }, task) {
    const answer = await task.elicit("confirm", { message: `Delete ${filename}?`, schema: confirmation });
    if (answer.action === "cancel") throw new TaskCancelled("The person gave no answer");
    return answer.action === "accept" && answer.content.confirm ? `Deleted ${filename}` : `Kept ${filename}`;
  },
});

/** Waits for two answers at once; they may come in any order, one by one. */
export const multiInput = defineTool({
  name: "multi_input",
  description: "Asks two questions at the same time.",
  taskSupport: "required",
  async run(_, task) {
    const answers = await Promise.all([
      task.elicit("name", { message: "What is your name?", schema: named }),
      task.elicit("confirm", { message: "Go on?", schema: confirmation }),
    ]);
    return `Answers: ${answers.map((answer) => answer.action).join(", ")}`;
  },
});

/** Asks in the call (MRTR), and only then becomes a task. */
export const toolWithTask = defineTool({
  name: "test_tool_with_task",
  description: "Asks for a name before its task exists, then greets in the task.",
  taskSupport: "required",
  async prepare(_, call) {
    const answer = await call.elicit("user_name", { message: "What is your name?", schema: named });
    if (answer.action !== "accept") throw new ToolError("A name is needed");
    return answer.content;
  },
  run: (_, task) => `Hello, ${task.prepared.name}!`,
});
