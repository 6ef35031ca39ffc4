import { describe, expect, test } from "vitest";
import { jsonObjectOf } from "./json-object-of.ts";
import { hasTasksExtension, missingCapabilities } from "./capabilities.ts";
import type { JsonObject } from "./json.ts";

const tasks = "io.modelcontextprotocol/tasks";

describe("hasTasksExtension", () => {
  test.each<[boolean, JsonObject]>([
    [true, { extensions: { [tasks]: {} } }],
    [true, { extensions: { [tasks]: { later: 1 }, "a/b": {} } }],
    [false, {}],
    [false, { extensions: {} }],
    [false, { extensions: { [tasks]: true } }],
    [false, { extensions: [tasks] }],
    [false, { tasks: {} }],
    [false, { experimental: { [tasks]: {} } }],
  ])("is %s for %j", (expected, capabilities) => {
    expect(hasTasksExtension(capabilities)).toBe(expected);
  });
});

describe("missingCapabilities", () => {
  test.each<[JsonObject, JsonObject, JsonObject | undefined]>([
    [{}, {}, undefined],
    [{ elicitation: {} }, { elicitation: {} }, undefined],
    [{ elicitation: {} }, { elicitation: { form: {} } }, undefined],
    [{ elicitation: { form: {} } }, { elicitation: {} }, undefined],
    [{ elicitation: { form: {} } }, { elicitation: { url: {} } }, { elicitation: { form: {} } }],
    [{ elicitation: { url: {} } }, { elicitation: {} }, { elicitation: { url: {} } }],
    [{ sampling: {}, roots: {} }, { roots: {} }, { sampling: {} }],
    [{ sampling: { tools: {} } }, { sampling: {} }, { sampling: { tools: {} } }],
    [{ sampling: {} }, { sampling: true }, { sampling: {} }],
  ])("of %j with %j declared are %j", (required, declared, missing) => {
    expect(missingCapabilities(required, declared)).toStrictEqual(missing);
  });

  test("nothing inherited or named __proto__ counts as declared", () => {
    const declared = jsonObjectOf('{"__proto__":{"sampling":{}}}');
    expect(missingCapabilities({ sampling: {} }, declared)).toStrictEqual({ sampling: {} });
    expect(missingCapabilities({ toString: {} }, {})).toStrictEqual({ toString: {} });
  });
});
