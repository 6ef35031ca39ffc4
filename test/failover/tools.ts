import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ProtocolError, ToolError, defineTool } from "@perdure/toolkit";
import type { TaskContext } from "@perdure/toolkit";
import { z } from "zod";
import type { ToolLine } from "./tool-line.ts";

/*
 * The tools of the fault runs. Each tells what it does in a file of its process, outside of Redis and of everything that is
 * under test: what happened in the world stays told when a worker is killed. They echo what they were given, so that a
 * client can tell from the result alone that its answers counted.
 */

const DIR = process.env["CHAOS_TOOL_DIR"] ?? ".";
const note = z.string();
const named = z.object({ value: z.string() });

interface Scene {
  step(name: string, ms: number): Promise<string>;
  ask(key: string): Promise<string>;
}

/** A run of a tool's function that tells what it does. */
function openScene(task: TaskContext): Scene {
  const run = randomUUID().slice(0, 8);
  const say = (what: ToolLine["what"], step = ""): void => {
    const line: ToolLine = { at: Date.now(), pid: process.pid, task: task.id, run, what, step };
    appendFileSync(join(DIR, `${process.pid}.jsonl`), `${JSON.stringify(line)}\n`);
  };
  say("run");
  return {
    async step(name, ms) {
      const value = await task.step(name, async () => {
        say("begin", name);
        await delay(ms);
        return `${name} of ${task.id}`;
      });
      say("kept", name);
      return value;
    },
    async ask(key) {
      const answer = await task.elicit(key, { message: `What is ${key}?`, schema: named });
      return answer.action === "accept" ? answer.content.value : answer.action;
    },
  };
}

const echo = (value: Record<string, unknown>): string => JSON.stringify(value);
const support = { taskSupport: "required", retry: { attempts: 3, backoff: "100ms" } } as const;

/** Works a little and returns. */
export const plain = defineTool({
  ...support,
  name: "plain",
  description: "Works a little.",
  input: z.object({ note, ms: z.number() }),
  async run({ note, ms }, task) {
    openScene(task);
    await delay(ms);
    await task.progress("Half way");
    await delay(ms);
    return echo({ note });
  },
});

/** So many steps, each so long. */
export const stepped = defineTool({
  ...support,
  name: "stepped",
  description: "Works in steps.",
  input: z.object({ note, steps: z.number(), ms: z.number() }),
  async run({ note, steps, ms }, task) {
    const scene = openScene(task);
    const kept: string[] = [];
    for (let i = 1; i <= steps; i += 1) {
      kept.push(await scene.step(`step ${i}`, ms));
      await task.progress(`${i} of ${steps}`);
    }
    return echo({ note, kept: kept.length });
  },
});

/** Asks one question between two steps. */
export const oneInput = defineTool({
  ...support,
  name: "one_input",
  description: "Asks for one value.",
  input: z.object({ note }),
  async run({ note }, task) {
    const scene = openScene(task);
    await scene.step("before", 40);
    const first = await scene.ask("first");
    await scene.step("after", 40);
    return echo({ note, first });
  },
});

/** Asks two questions at once. */
export const twoInputs = defineTool({
  ...support,
  name: "two_inputs",
  description: "Asks for two values at once.",
  input: z.object({ note }),
  async run({ note }, task) {
    const scene = openScene(task);
    const [left, right] = await Promise.all([scene.ask("left"), scene.ask("right")]);
    await scene.step("after", 40);
    return echo({ note, left, right });
  },
});

/** Asks, sleeps meanwhile and works on; so that the answer can come while a worker runs it. */
export const reminded = defineTool({
  ...support,
  name: "reminded",
  description: "Asks for a value and works on for a while.",
  input: z.object({ note }),
  async run({ note }, task) {
    const scene = openScene(task);
    const late = scene.ask("late");
    await task.sleep("a while", 800);
    await scene.step("meanwhile", 900);
    return echo({ note, late: await late });
  },
});

/** Sleeps between two steps. */
export const sleeping = defineTool({
  ...support,
  name: "sleeping",
  description: "Sleeps for a while.",
  input: z.object({ note, ms: z.number() }),
  async run({ note, ms }, task) {
    const scene = openScene(task);
    await scene.step("before", 20);
    await task.sleep("nap", ms);
    await scene.step("after", 20);
    return echo({ note });
  },
});

/** Works longer than it may live. */
export const outliving = defineTool({
  ...support,
  name: "outliving",
  description: "Works longer than it may live.",
  input: z.object({ note }),
  ttl: "3s",
  async run({ note }, task) {
    const scene = openScene(task);
    for (let i = 1; i <= 40; i += 1) await scene.step(`step ${i}`, 250);
    return echo({ note });
  },
});

/** Asks what nobody answers. */
export const forsaken = defineTool({
  ...support,
  name: "forsaken",
  description: "Asks what nobody answers.",
  input: z.object({ note }),
  ttl: "2s",
  async run({ note }, task) {
    return echo({ note, first: await openScene(task).ask("first") });
  },
});

/** Fails as it is told: with a result that says so, with an error of the protocol, each time, or until the third time. */
export const failing = defineTool({
  ...support,
  name: "failing",
  description: "Fails.",
  input: z.object({ note, how: z.enum(["tool error", "protocol error", "always", "twice"]) }),
  async run({ note, how }, task) {
    const scene = openScene(task);
    await scene.step("before", 20);
    if (how === "tool error") throw new ToolError(note);
    if (how === "protocol error") throw new ProtocolError(-32602, note);
    if (how === "always" || task.attempt < 3) throw new Error("words that are nobody's business");
    return echo({ note });
  },
});

/** Asks another question under the same key when it runs again: it breaks a rule, and must be told so. */
export const fickle = defineTool({
  ...support,
  name: "fickle",
  description: "Asks another question under the same key.",
  input: z.object({ note }),
  async run({ note }, task) {
    openScene(task);
    const asked = task.elicit("mood", { message: `What is ${randomUUID()}?`, schema: named });
    await task.sleep("a while", 800);
    return echo({ note, mood: (await asked).action });
  },
});

/** Returns a result of so many bytes. */
export const large = defineTool({
  ...support,
  name: "large",
  description: "Returns much.",
  input: z.object({ note, bytes: z.number() }),
  async run({ note, bytes }, task) {
    await openScene(task).step("before", 20);
    return echo({ note, much: "x".repeat(bytes) });
  },
});

/** For a client that knows no tasks: its call waits. */
export const waited = defineTool({
  ...support,
  name: "waited",
  description: "Is waited for.",
  input: z.object({ note, ms: z.number() }),
  taskSupport: "optional",
  async run({ note, ms }, task) {
    const scene = openScene(task);
    await scene.step("one", ms);
    await scene.step("two", ms);
    return echo({ note });
  },
});
