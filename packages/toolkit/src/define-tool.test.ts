import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { defineTool } from "./define-tool.ts";
import { KIND } from "./tool.ts";
import { toolResult } from "./tool-result.ts";
import { untyped } from "./fake-host.ts";

const plain = { name: "plain", description: "Does it", run: () => "done" };

test("a tool says no more than its author, and the defaults", () => {
  const tool = defineTool(plain);
  expect(tool).toMatchObject({
    [KIND]: "tool",
    name: "plain",
    taskSupport: "forbidden",
    needs: [],
    scopes: [],
    retry: { attempts: 3, backoffMs: 1_000 },
    headerParams: [],
  });
  for (const absent of [
    "title",
    "ttlMs",
    "pollIntervalMs",
    "outputSchema",
    "annotations",
    "icons",
    "prepare",
  ])
    expect(tool).not.toHaveProperty(absent);
});

test("a tool without input takes no arguments", () => {
  const tool = defineTool(plain);
  expect(tool.inputSchema).toMatchObject({ type: "object", additionalProperties: false });
  expect(tool.parseInput({}).ok).toBe(true);
  expect(tool.parseInput({ a: 1 }).ok).toBe(false);
});

test("everything that an author says is kept, durations in milliseconds", () => {
  const tool = defineTool({
    ...plain,
    title: "Plain",
    taskSupport: "required",
    ttl: "15m",
    pollInterval: 500,
    needs: ["elicitation"],
    scopes: ["reports"],
    retry: { attempts: 1, backoff: "2s" },
    annotations: { readOnlyHint: true },
    icons: [{ src: "https://example.com/i.png", sizes: ["48x48"] }],
  });
  expect(tool).toMatchObject({
    title: "Plain",
    taskSupport: "required",
    ttlMs: 900_000,
    pollIntervalMs: 500,
    needs: ["elicitation"],
    scopes: ["reports"],
    retry: { attempts: 1, backoffMs: 2_000 },
    annotations: { readOnlyHint: true },
    icons: [{ src: "https://example.com/i.png", sizes: ["48x48"] }],
  });
});

test("schemas are JSON Schema 2020-12: what a client may send, and what it gets", () => {
  const tool = defineTool({
    ...plain,
    input: z.object({ size: z.enum(["s", "l"]).default("s") }),
    output: z.object({ size: z.string().default("s") }),
    run: () => ({}),
  });
  expect(tool.inputSchema).toEqual({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { size: { default: "s", type: "string", enum: ["s", "l"] } },
  });
  expect(tool.outputSchema).toMatchObject({ required: ["size"], additionalProperties: false });
});

test("a raw input schema is advertised as it is, while zod validates", () => {
  const inputSchema = { type: "object", $defs: { a: { $anchor: "x" } }, if: {}, else: { required: ["b"] } };
  const tool = defineTool({ ...plain, input: z.object({ b: z.string() }), inputSchema });
  expect(tool.inputSchema).toEqual(inputSchema);
  expect(tool.parseInput({ b: 1 })).toEqual({
    ok: false,
    problem: "b: Invalid input: expected string, received number",
  });
});

test("parsed input has its defaults and transformations", () => {
  const tool = defineTool({
    ...plain,
    input: z.object({ n: z.string().transform(Number), d: z.int().default(7) }),
  });
  expect(tool.parseInput({ n: "4" })).toEqual({ ok: true, value: { n: 4, d: 7 } });
});

test("the path of a problem names nested keys and indexes", () => {
  const tool = defineTool({ ...plain, input: z.object({ rows: z.array(z.object({ id: z.string() })) }) });
  expect(tool.parseInput({ rows: [{ id: "a" }, { id: 4711 }] })).toEqual({
    ok: false,
    problem: "rows[1].id: Invalid input: expected string, received number",
  });
});

describe("a wrong definition is refused, with the tool and the field", () => {
  test.each<[string, object]>([
    ["name must be 1 to 128", { name: "" }],
    ["name must be 1 to 128", { name: "a b" }],
    ["name must be 1 to 128", { name: "a".repeat(129) }],
    ["name must be 1 to 128", { name: "é" }],
    ["description must say", { description: " " }],
    ["run must be a function", { run: undefined }],
    ["input must be an object schema", { input: z.string() }],
    ["input must be an object schema", { inputSchema: { anyOf: [] } }],
    ["input has no JSON Schema", { input: z.object({ at: z.date() }) }],
    ["output has no JSON Schema", { output: z.map(z.string(), z.string()) }],
    ['ttl is "15min"', { ttl: "15min" }],
    ["ttl is 0", { ttl: 0 }],
    ["pollInterval is -1", { pollInterval: -1 }],
    ["retry.attempts must be a whole number", { retry: { attempts: 0 } }],
    ["retry.attempts must be a whole number", { retry: { attempts: 1.5 } }],
    ["retry.backoff is", { retry: { backoff: "soon" } }],
  ])("%s", (problem, change) => {
    const define = (): unknown => defineTool(untyped({ ...plain, ...change }));
    expect(define).toThrow(TypeError);
    expect(define).toThrow(`defineTool(${JSON.stringify({ ...plain, ...change }.name)}): ${problem}`);
  });

  test("names with all that is allowed are fine", () => {
    for (const name of ["getUser", "DATA_EXPORT_v2", "admin.tools.list", "a-b", "x", "a".repeat(128)])
      expect(defineTool({ ...plain, name }).name).toBe(name);
  });
});

describe("header parameters", () => {
  const headersOf = (input: z.ZodObject): unknown => defineTool({ ...plain, input }).headerParams;

  test("annotated properties are collected with name, path and type", () => {
    const input = z.object({
      region: z.string().meta({ "x-mcp-header": "Region" }),
      size: z.enum(["s", "l"]).optional().meta({ "x-mcp-header": "Size" }),
      place: z.object({ shelf: z.int().meta({ "x-mcp-header": "Shelf" }) }),
      dry: z.boolean().default(false).meta({ "x-mcp-header": "Dry-Run" }),
      query: z.string(),
    });
    expect(headersOf(input)).toEqual([
      { name: "Region", path: ["region"], type: "string" },
      { name: "Size", path: ["size"], type: "string" },
      { name: "Shelf", path: ["place", "shelf"], type: "integer" },
      { name: "Dry-Run", path: ["dry"], type: "boolean" },
    ]);
    expect(defineTool({ ...plain, input }).inputSchema["properties"]).toMatchObject({
      region: { type: "string", "x-mcp-header": "Region" },
    });
  });

  test.each([
    ["empty", z.object({ a: z.string().meta({ "x-mcp-header": "" }) }), "must be an HTTP token"],
    ["with a space", z.object({ a: z.string().meta({ "x-mcp-header": "A B" }) }), "must be an HTTP token"],
    [
      "with a line feed",
      z.object({ a: z.string().meta({ "x-mcp-header": "A\nB" }) }),
      "must be an HTTP token",
    ],
    ["no text", z.object({ a: z.string().meta({ "x-mcp-header": 5 }) }), "must be an HTTP token"],
    [
      "of a number",
      z.object({ a: z.number().meta({ "x-mcp-header": "A" }) }),
      "only string, integer and boolean",
    ],
    [
      "of an object",
      z.object({ a: z.object({}).meta({ "x-mcp-header": "A" }) }),
      "only string, integer and boolean",
    ],
    [
      "of a text or null",
      z.object({ a: z.string().nullable().meta({ "x-mcp-header": "A" }) }),
      "only string, integer",
    ],
    [
      "twice, by case only",
      z.object({
        a: z.string().meta({ "x-mcp-header": "Region" }),
        b: z.string().meta({ "x-mcp-header": "REGION" }),
      }),
      'a has the header "Region" already',
    ],
    ["in a list", z.object({ a: z.array(z.string().meta({ "x-mcp-header": "A" })) }), "#/properties/a/items"],
    [
      "in a union",
      z.object({ a: z.union([z.string().meta({ "x-mcp-header": "A" }), z.int()]) }),
      "#/properties/a/anyOf/0",
    ],
    [
      "behind a reference",
      z.object({ a: z.string().meta({ id: "behind_a_reference", "x-mcp-header": "A" }) }),
      "not array items, unions or references",
    ],
    ["on the root", z.object({}).meta({ "x-mcp-header": "A" }), "at #:"],
  ])("a header that is %s is refused", (_name, input, problem) => {
    expect(() => headersOf(input)).toThrow(problem);
  });

  test("an integer outside of what a double holds is no header", () => {
    const inputSchema = {
      type: "object",
      properties: { a: { type: "integer", maximum: 2 ** 60, "x-mcp-header": "A" } },
    };
    expect(() => defineTool({ ...plain, inputSchema })).toThrow("must stay within");
  });

  test("data that happens to look like an annotation is none", () => {
    const input = z.object({ a: z.looseObject({}).default({ "x-mcp-header": "A" }) });
    expect(headersOf(input)).toEqual([]);
  });
});

test("types come from the schemas", () => {
  defineTool({
    name: "typed",
    description: "Typed",
    input: z.object({ size: z.enum(["s", "l"]).default("s") }),
    output: z.object({ pages: z.number() }),
    prepare: () => ({ token: "t" }),
    async run(args, task) {
      expectTypeOf(args).toEqualTypeOf<{ size: "s" | "l" }>();
      expectTypeOf(task.prepared).toEqualTypeOf<{ token: string }>();
      const answer = await task.elicit("k", { message: "m", schema: z.object({ ok: z.boolean() }) });
      if (answer.action === "accept") expectTypeOf(answer.content).toEqualTypeOf<{ ok: boolean }>();
      expectTypeOf(await task.step("n", () => 7)).toExtend<number>();
      return args.size === "s" ? { pages: 1 } : toolResult({ structuredContent: { pages: 2 } });
    },
  });
  // @ts-expect-error: the output schema wants a number
  defineTool({ ...plain, output: z.object({ pages: z.number() }), run: () => ({ pages: "1" }) });
  // @ts-expect-error: a step's value must be JSON
  defineTool({ ...plain, run: async (_args, task) => void (await task.step("n", () => new Map())) });
  defineTool({
    ...plain,
    run: (_args, task) => void expectTypeOf(task.prepared).toEqualTypeOf<undefined>(),
  });
});
