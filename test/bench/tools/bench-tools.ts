import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { defineTool } from "@perdure/toolkit";
import { z } from "zod";

/** A task that has nothing to do: what is left is the cost of being a task. */
export const nothing = defineTool({
  name: "bench_nothing",
  description: "Does nothing.",
  input: z.object({ text: z.string() }),
  taskSupport: "required",
  run: () => "done",
});

/** Tells in a file that it runs and where, and goes on until it is stopped. */
export const hold = defineTool({
  name: "bench_hold",
  description: "Runs until it is stopped.",
  input: z.object({ file: z.string() }),
  taskSupport: "required",
  async run({ file }, task) {
    appendFileSync(file, `${process.pid}\n`);
    await delay(3_600_000, undefined, { signal: task.signal });
    return "done";
  },
});
