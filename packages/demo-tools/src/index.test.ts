import { loadCatalog } from "@perdure/toolkit/host";
import { runToolInMemory } from "@perdure/toolkit";
import { expect, test } from "vitest";
import { confirmDelete, inputCapabilities, multiInput, slowCompute, toolWithTask } from "./index.ts";

const accept = (content: Record<string, boolean | string>) => ({ action: "accept", content });

test("PERDURE_TOOLS=@perdure/demo-tools offers every fixture, the first of them callable by anyone", async () => {
  const catalog = await loadCatalog(["@perdure/demo-tools"], { baseDir: import.meta.dirname });
  expect([catalog.tools.size, catalog.prompts.size]).toEqual([33, 5]);
  expect([...catalog.resources.keys()]).toEqual(["test://static-binary", "test://static-text"]);
  expect([...catalog.resourceTemplates.keys()]).toEqual(["test://template/{id}/data"]);
  const [first] = catalog.tools.values();
  expect(first).toMatchObject({ taskSupport: "forbidden", needs: [], inputSchema: { properties: {} } });
});

test("slow_compute computes for the time that it is given", async () => {
  const run = await runToolInMemory(slowCompute, { seconds: 0, label: "nothing" });
  expect(run.text).toBe("Computed nothing in 0 s");
});

test.each([
  [accept({ confirm: true }), "Deleted a.txt"],
  [accept({ confirm: false }), "Kept a.txt"],
  [{ action: "decline" }, "Kept a.txt"],
])("confirm_delete, answered with %j, says %s", async (confirm, text) => {
  const run = await runToolInMemory(confirmDelete, { filename: "a.txt" }, { answers: { confirm } });
  expect(run.text).toBe(text);
});

test("multi_input has both its questions outstanding at once", async () => {
  const answers = { name: accept({ name: "Ada" }), confirm: accept({ confirm: true }) };
  const run = await runToolInMemory(multiInput, {}, { answers });
  expect(run).toMatchObject({ text: "Answers: accept, accept", runs: 2 });
});

test("test_tool_with_task greets with the name that was asked for before its task existed", async () => {
  const run = await runToolInMemory(toolWithTask, {}, { answers: { user_name: accept({ name: "Ada" }) } });
  expect(run.text).toBe("Hello, Ada!");
});

test("test_input_required_result_capabilities asks for nothing that the client cannot give", async () => {
  const capital_question = { role: "assistant", content: { type: "text", text: "Paris" }, model: "m" };
  const run = await runToolInMemory(
    inputCapabilities,
    {},
    { capabilities: { sampling: {} }, answers: { capital_question } },
  );
  expect(run.asked.map(({ key }) => key)).toEqual(["capital_question"]);
  expect(run.text).toBe("Person: nobody to ask. Model: Paris.");
});
