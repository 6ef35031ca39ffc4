import { expect, test } from "vitest";
import { parseUriTemplate } from "./uri-template.ts";
import { untyped } from "./fake-host.ts";

const match = (template: string, uri: string): unknown => {
  const parsed = parseUriTemplate(template);
  return parsed.ok ? parsed.match(uri) : parsed;
};

test.each([
  ["test://template/{id}/data", "test://template/123/data", { id: "123" }],
  ["w://{city}/{day}", "w://s%C3%A3o%20paulo/2026-12-01", { city: "são paulo", day: "2026-12-01" }],
  ["a:{x}-{y}", "a:1-2-3", { x: "1", y: "2-3" }],
])("%s reads the variables of %s", (template, uri, variables) => {
  expect(match(template, uri)).toEqual(variables);
});

test.each([
  ["test://template/{id}/data", "test://template//data"],
  ["test://template/{id}/data", "test://template/1/2/data"],
  ["test://template/{id}/data", "test://template/1/data/more"],
  ["test://template/{id}/data", "other://template/1/data"],
  ["a:{x}", "a:%E0%A4%A"],
  ["a:{x}", "a:%FF"],
  ["a:{x}", "a:b c"],
])("%s is not what makes %s", (template, uri) => {
  expect(match(template, uri)).toBeUndefined();
});

test.each([
  ["no://variable", "has no {variable}"],
  ["a:{+path}", "may hold {name} alone"],
  ["a:{x}/{y", "may hold {name} alone"],
  ["a:{x}/{x}", "has a variable twice"],
  ["a:{x}{y}", "two variables with nothing between them"],
])("%s is refused: %s", (template, problem) => {
  expect(match(template, "")).toMatchObject({
    ok: false,
    problem: expect.stringContaining(problem),
  });
});

test("a hostile URI of a megabyte is judged in the time it takes to read it", () => {
  const began = performance.now();
  expect(match("a:{x}-{y}-{z}/end", `a:${"-a".repeat(500_000)}`)).toBeUndefined();
  expect(performance.now() - began).toBeLessThan(1_000);
});

test("a variable called __proto__ is a variable like any other", () => {
  expect(Object.entries(untyped(match("a:{__proto__}", "a:b")))).toEqual([["__proto__", "b"]]);
});
