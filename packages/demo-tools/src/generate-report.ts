import { setTimeout as delay } from "node:timers/promises";
import { TaskCancelled, defineTool, toolResult } from "@perdure/toolkit";
import { z } from "zod";

/** What stands in for slow work: how many sections a report has, and how long each takes. */
const PLANS = {
  small: { sections: ["Summary"], sectionMs: 100 },
  large: { sections: ["Summary", "Findings", "Figures", "Risks", "Next steps"], sectionMs: 500 },
} as const;

/**
 * The first tool to read. It plans a report, asks a person to approve the plan (and waits for days if need be, holding
 * nothing), then writes it section by section. Each `step` runs once: a worker that takes over goes on where the last one
 * was.
 */
export const generateReport = defineTool({
  name: "generate_report",
  title: "Generate a report",
  description: "Writes a report in sections, once a person has approved its outline.",
  input: z.object({ size: z.enum(["small", "large"]).describe("large takes a few seconds") }),
  output: z.object({ size: z.string(), approved: z.boolean() }),
  taskSupport: "required",
  needs: ["elicitation"],
  ttl: "15m",
  async run({ size }, task) {
    const { sections, sectionMs } = PLANS[size];
    const outline = await task.step("outline", async (signal) => {
      await delay(sectionMs * 2, undefined, { signal });
      return sections.map((title, at) => `${at + 1}. ${title}`);
    });
    await task.progress("Outline ready");

    const answer = await task.elicit("approve_outline", {
      message: "Approve the generated report outline?",
      schema: z.object({ approved: z.boolean() }),
    });
    if (answer.action !== "accept") throw new TaskCancelled("The outline was refused");
    if (!answer.content.approved) return { size, approved: false };

    const report: string[] = [];
    for (const [at, title] of outline.entries()) {
      const text = await task.step(`section ${at + 1}`, async (signal) => {
        await delay(sectionMs, undefined, { signal });
        return `## ${title}\n\nWhat there is to say.`;
      });
      report.push(text);
      await task.progress(`Section ${at + 1} of ${outline.length} written`, {
        done: at + 1,
        total: outline.length,
      });
    }
    return toolResult({
      content: [{ type: "text", text: report.join("\n\n") }],
      structuredContent: { size, approved: true },
    });
  },
});
