import { expect, test } from "vitest";
import { canonicalJson, jsonText } from "./json-text.ts";

test.each([null, true, 0, -1.5, "", "text", [], {}, { a: [1, { b: null }] }])("%j is JSON", (value) => {
  expect(jsonText(value)).toEqual({ ok: true, text: JSON.stringify(value) });
});

test("a property that is undefined is left out, as JSON does", () => {
  expect(jsonText({ a: undefined, b: 1 })).toEqual({ ok: true, text: '{"b":1}' });
});

const cycle: { self?: unknown } = {};
cycle.self = [cycle];
const deep = JSON.parse("[".repeat(1_000) + "]".repeat(1_000));

test.each([
  ["nothing at all", undefined, " is undefined"],
  ["a function", { a: [{ b: () => 1 }] }, ".a[0].b is a function"],
  ["a bigint", { a: 1n }, ".a is a bigint"],
  ["a symbol", [Symbol("s")], "[0] is a symbol"],
  ["NaN", { a: NaN }, ".a is NaN"],
  ["an infinity", -Infinity, " is -Infinity"],
  ["undefined in an array", [1, undefined], "[1] is undefined"],
  ["a Map", { rows: new Map() }, ".rows is a Map, no plain object"],
  ["a Date", new Date(0), " is a Date, no plain object"],
  ["a cycle", cycle, ".self[0] contains itself"],
])("%s is refused with its path", (_name, value, problem) => {
  expect(jsonText(value)).toEqual({ ok: false, problem });
});

test("a value that is nested too deeply is refused, not an overflow", () => {
  expect(jsonText(deep)).toMatchObject({
    ok: false,
    problem: expect.stringContaining("is nested deeper than 500 levels"),
  });
});

test("the same object in two places is no cycle", () => {
  const twice = { a: 1 };
  expect(jsonText([twice, twice]).ok).toBe(true);
});

test("two texts of one value are canonically the same, whatever the order of keys", () => {
  expect(canonicalJson('{"b":[{"d":1,"c":2}],"a":"x"}')).toBe('{"a":"x","b":[{"c":2,"d":1}]}');
});

test("canonical texts keep what differs", () => {
  expect(canonicalJson('{"a":[1,2]}')).not.toBe(canonicalJson('{"a":[2,1]}'));
});
