import { runToolInMemory } from "@perdure/toolkit";
import { describe, expect, test } from "vitest";
import { generateReport } from "./generate-report.ts";

const approve = { approve_outline: { action: "accept", content: { approved: true } } };

describe.concurrent("generate_report", () => {
  test("writes the report once its outline is approved", async () => {
    const run = await runToolInMemory(generateReport, { size: "small" }, { answers: approve });
    expect(run.structuredContent).toEqual({ size: "small", approved: true });
    expect(run.text).toContain("## 1. Summary");
    expect(run.progress).toEqual(["Outline ready", "Section 1 of 1 written"]);
  });

  test("asks once, under the key that clients know", async () => {
    const run = await runToolInMemory(generateReport, { size: "small" }, { answers: approve });
    expect(run.asked.map(({ key, request }) => [key, request.method, request.params["message"]])).toEqual([
      ["approve_outline", "elicitation/create", "Approve the generated report outline?"],
    ]);
  });

  test("writes nothing when the person says no", async () => {
    const answers = { approve_outline: { action: "accept", content: { approved: false } } };
    const run = await runToolInMemory(generateReport, { size: "small" }, { answers });
    expect(run.structuredContent).toEqual({ size: "small", approved: false });
    expect(run.steps).toEqual(["outline"]);
  });

  test.each(["decline", "cancel"])("is cancelled when the person's answer is %s", async (action) => {
    const run = await runToolInMemory(
      generateReport,
      { size: "small" },
      { answers: { approve_outline: { action } } },
    );
    expect(run).toMatchObject({ status: "cancelled", reason: "The outline was refused" });
  });

  test("a worker that dies between two sections is followed by one that goes on with the next", async () => {
    const run = await runToolInMemory(
      generateReport,
      { size: "large" },
      { answers: approve, crashAfter: "section 2" },
    );
    expect(run.status).toBe("completed");
    expect(run.steps).toEqual(["outline", "section 1", "section 2", "section 3", "section 4", "section 5"]);
    expect(run.text?.match(/^## /gm)).toHaveLength(5);
  });
});
