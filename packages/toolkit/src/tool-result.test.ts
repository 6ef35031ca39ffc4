import { expect, test } from "vitest";
import { z } from "zod";
import { makeCallToolResult, toolResult } from "./tool-result.ts";
import { untyped } from "./fake-host.ts";

const output = z.object({ size: z.string(), pages: z.number().default(1) });

test("a string is text", () => {
  expect(makeCallToolResult("hello", undefined)).toEqual({
    ok: true,
    value: { content: [{ type: "text", text: "hello" }] },
  });
});

test.each([{ a: [1] }, [1, 2], 7, false, null])("%j is structure, and its JSON as text", (value) => {
  expect(makeCallToolResult(value, undefined)).toEqual({
    ok: true,
    value: { content: [{ type: "text", text: JSON.stringify(value) }], structuredContent: value },
  });
});

test("nothing is an empty result", () => {
  expect(makeCallToolResult(undefined, undefined)).toEqual({ ok: true, value: { content: [] } });
});

test("a result with an output schema has what the schema makes of it, defaults in and unknown keys out", () => {
  expect(makeCallToolResult({ size: "s", secret: 1 }, output)).toEqual({
    ok: true,
    value: {
      content: [{ type: "text", text: '{"size":"s","pages":1}' }],
      structuredContent: { size: "s", pages: 1 },
    },
  });
});

test("a string is structure when the output schema says so", () => {
  expect(makeCallToolResult("s", z.string())).toMatchObject({ ok: true, value: { structuredContent: "s" } });
});

test("a result that breaks the output schema is told by path and expectation, without the value", () => {
  const made = makeCallToolResult({ size: 4711 }, output);
  expect(made).toEqual({
    ok: false,
    problem: "structuredContent.size: Invalid input: expected string, received number",
  });
});

test.each([undefined, toolResult({ content: [] })])("an output schema wants structure", (returned) => {
  expect(makeCallToolResult(returned, output)).toMatchObject({
    ok: false,
    problem: expect.stringContaining("structuredContent"),
  });
});

test("content is kept as it was said, with annotations", () => {
  const content = [
    { type: "image", data: "aGk=", mimeType: "image/png", annotations: { audience: ["user"] } },
    { type: "audio", data: "aGk=", mimeType: "audio/wav" },
    { type: "resource", resource: { uri: "a:b", text: "t" } },
    { type: "resource_link", uri: "a:b", name: "n" },
  ] as const;
  expect(makeCallToolResult(toolResult({ content }), undefined)).toEqual({ ok: true, value: { content } });
});

test("structure without content gets its JSON as text", () => {
  expect(makeCallToolResult(toolResult({ structuredContent: { size: "s" } }), output)).toMatchObject({
    ok: true,
    value: { content: [{ type: "text", text: '{"size":"s","pages":1}' }] },
  });
});

test("an error result needs no structure", () => {
  const returned = toolResult({ content: [{ type: "text", text: "no" }], isError: true });
  expect(makeCallToolResult(returned, output)).toEqual({
    ok: true,
    value: { content: [{ type: "text", text: "no" }], isError: true },
  });
});

test.each([
  [{ content: [{ type: "video" }] }, "parts.content[0].type"],
  [{ content: [{ type: "image", data: "x" }] }, "parts.content[0].mimeType"],
  [{ contents: [] }, "contents"],
])("content that the protocol does not know is refused: %j", (parts, where) => {
  const made = makeCallToolResult(toolResult(untyped(parts)), undefined);
  expect(made).toMatchObject({ ok: false, problem: expect.stringContaining(where) });
});

test.each([[() => 1], [{ a: 1n }], [new Map()]])("what JSON cannot keep is refused", (returned) => {
  expect(makeCallToolResult(returned, undefined).ok).toBe(false);
});

test("a result of another copy of the package is a result", () => {
  const returned = { [Symbol.for("perdure.kind")]: "result", parts: { content: [] } };
  expect(makeCallToolResult(returned, undefined)).toEqual({ ok: true, value: { content: [] } });
});
