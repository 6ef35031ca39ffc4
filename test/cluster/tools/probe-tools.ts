import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { defineTool } from "@perdure/toolkit";
import { z } from "zod";

/*
 * Tools that tell a test what they do, line by line in a file, and wait for it at a gate: a file that the test makes.
 * They run in worker processes, so files are how the two sides meet.
 */

const POLL_MS = 10;

/** Where a tool tells what it does, and the file that lets it go on. */
const probe = z.object({ file: z.string(), gate: z.string().optional() });
const named = z.object({ name: z.string() });

function say(file: string, line: string): void {
  appendFileSync(file, `${line}\n`);
}

async function opened(gate: string | undefined, signal?: AbortSignal): Promise<void> {
  const isOpen = (): boolean => gate !== undefined && existsSync(gate);
  while (!isOpen()) await delay(POLL_MS, undefined, { signal });
}

/** Three steps; the second one waits at the gate. */
export const threeSteps = defineTool({
  name: "three_steps",
  description: "Runs three steps, the second of them behind a gate.",
  input: probe,
  taskSupport: "required",
  async run({ file, gate }, task) {
    await task.step("one", () => say(file, "one"));
    await task.step("two", async () => {
      say(file, `two begins ${process.pid}`);
      await opened(gate);
      say(file, "two ends");
    });
    await task.step("three", () => say(file, "three"));
    return `attempt ${task.attempt}`;
  },
});

/** Holds its place until the gate is open; tells why when it is stopped before. */
export const hold = defineTool({
  name: "hold",
  description: "Waits at a gate.",
  input: probe,
  taskSupport: "optional",
  async run({ file, gate }, task) {
    say(file, `runs ${process.pid}`);
    task.signal.addEventListener("abort", () => {
      if (task.signal.reason instanceof Error) say(file, `stopped: ${task.signal.reason.message}`);
    });
    await task.progress("At the gate");
    await opened(gate, task.signal);
    say(file, "ends");
    return `attempt ${task.attempt}`;
  },
});

/** The same in the replica. */
export const holdCall = defineTool({
  name: "hold_call",
  description: "Waits at a gate, in the call.",
  input: probe,
  async run({ file, gate }, task) {
    say(file, `runs ${process.pid}`);
    task.signal.addEventListener("abort", () => say(file, "stopped"));
    await opened(gate, task.signal);
    return "held";
  },
});

/** Asks two questions at once, and tells of each run of the function. */
export const askTwo = defineTool({
  name: "ask_two",
  description: "Asks for a name and a colour at the same time.",
  input: probe,
  taskSupport: "optional",
  async run({ file }, task) {
    say(file, "leg");
    const answers = await Promise.all([
      task.elicit("name", { message: "Which name?", schema: named }),
      task.elicit("colour", { message: "Which colour?", schema: named }),
    ]);
    say(file, "answered");
    return answers.map((answer) => (answer.action === "accept" ? answer.content.name : answer.action)).join();
  },
});

/** Ends at once, and says for whom it ran. */
export const whoCalls = defineTool({
  name: "who_calls",
  description: "Says who called it.",
  input: probe,
  taskSupport: "optional",
  output: z.object({ tenant: z.string(), principal: z.string() }),
  run({ file }, { caller }) {
    say(file, "runs");
    return { tenant: caller.tenant, principal: caller.principal };
  },
});

/** Fails each time, with words that are nobody's business but the log's. */
export const throws = defineTool({
  name: "throws",
  description: "Throws.",
  input: probe,
  taskSupport: "required",
  retry: { attempts: 2, backoff: "50ms" },
  run({ file }, task) {
    say(file, `attempt ${task.attempt}`);
    throw new Error("the database password is hunter2");
  },
});

/** Returns what its output schema does not allow. */
export const badResult = defineTool({
  name: "bad_result",
  description: "Returns a number where it promised a text.",
  taskSupport: "required",
  output: z.object({ text: z.string() }),
  run: () => JSON.parse('{"text":1}'),
});

/** Heeds no signal and never returns; it may live for two seconds. */
export const neverReturns = defineTool({
  name: "never_returns",
  description: "Never returns.",
  taskSupport: "required",
  ttl: "2s",
  run: () => new Promise<string>(() => {}),
});

const FIVE_MEGABYTES = 5 * 1024 * 1024;

/** Returns far more than a result may have. */
export const hugeResult = defineTool({
  name: "huge_result",
  description: "Returns 5 MB.",
  taskSupport: "required",
  run: () => "x".repeat(FIVE_MEGABYTES),
});

/** The same in the replica. */
export const hugeCall = defineTool({
  name: "huge_call",
  description: "Returns 5 MB, in the call.",
  run: () => "x".repeat(FIVE_MEGABYTES),
});
