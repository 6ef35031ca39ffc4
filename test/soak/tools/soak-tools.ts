import { defineTool } from "@perdure/toolkit";
import { z } from "zod";

/* What a soak calls: tasks that end by themselves, that ask, that sleep until they expire, and one that waits in the call. */

/** Ends at once, after one step. */
export const soakQuick = defineTool({
  name: "soak_quick",
  description: "Says its text back.",
  input: z.object({ text: z.string() }),
  taskSupport: "required",
  run: ({ text }, task) => task.step("say", () => text),
});

/** Asks, and ends with the answer. */
export const soakAsk = defineTool({
  name: "soak_ask",
  description: "Asks for a name.",
  taskSupport: "required",
  async run(_, task) {
    const answer = await task.elicit("name", {
      message: "Which name?",
      schema: z.object({ name: z.string() }),
    });
    return answer.action;
  },
});

/** Tells of itself and sleeps for longer than it lives. */
export const soakSleep = defineTool({
  name: "soak_sleep",
  description: "Sleeps until it expires.",
  taskSupport: "required",
  ttl: "3s",
  async run(_, task) {
    await task.progress("Asleep");
    await task.sleep("long", "1h");
    return "slept";
  },
});

/** A call that may be a task, and that takes longer than its client waits. */
export const soakWait = defineTool({
  name: "soak_wait",
  description: "Waits to be stopped.",
  taskSupport: "optional",
  async run(_, task) {
    const { promise, resolve } = Promise.withResolvers<void>();
    task.signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    return "stopped";
  },
});
