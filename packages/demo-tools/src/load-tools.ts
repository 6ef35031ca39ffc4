import { defineTool } from "@perdure/toolkit";
import { z } from "zod";

/* What `perdure load` calls. Each gives back the number it was called with, so that a mixed-up result is seen. */

const numbered = z.object({ n: z.int().describe("Given back as the result") });
const load = { taskSupport: "required", ttl: "15m", pollInterval: "500ms" } as const;

/** Ends at once. */
export const loadPlain = defineTool({
  ...load,
  name: "load_plain",
  description: "For load: ends at once.",
  input: numbered,
  run: ({ n }) => String(n),
});

/** Keeps three steps. */
export const loadStepped = defineTool({
  ...load,
  name: "load_stepped",
  description: "For load: keeps three steps.",
  input: numbered,
  async run({ n }, task) {
    for (const at of [1, 2, 3]) {
      await task.step(`step ${at}`, () => `${n}.${at}`);
      await task.progress(`Step ${at} of 3`);
    }
    return String(n);
  },
});

/** Waits for one answer. */
export const loadInput = defineTool({
  ...load,
  name: "load_input",
  description: "For load: waits for one answer.",
  input: numbered,
  needs: ["elicitation"],
  async run({ n }, task) {
    await task.elicit("go_on", { message: "Go on?", schema: z.object({ yes: z.boolean() }) });
    return String(n);
  },
});

/** Sleeps, holding no worker. */
export const loadSleep = defineTool({
  ...load,
  name: "load_sleep",
  description: "For load: sleeps, holding no worker.",
  input: numbered.extend({ ms: z.int().min(0).max(600_000).default(1000) }),
  async run({ n, ms }, task) {
    await task.sleep("a while", ms);
    return String(n);
  },
});
