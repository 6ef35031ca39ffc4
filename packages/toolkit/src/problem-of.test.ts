import { expect, test } from "vitest";
import { z } from "zod";
import { problemOf } from "./problem-of.ts";

function problem(schema: z.ZodType, value: unknown): string {
  const { error } = schema.safeParse(value);
  return error ? problemOf(error) : "";
}

test("says where and what, in one line", () => {
  const schema = z.object({ rows: z.array(z.object({ n: z.number() })) });
  expect(problem(schema, { rows: [{ n: 1 }, { n: "x" }] })).toMatch(/^rows\[1\]\.n: .*expected number/);
});

test("is short however long the names are that are wrong", () => {
  const long = "😀".repeat(100_000);
  for (const schema of [z.strictObject({}), z.record(z.string(), z.number())]) {
    const line = problem(schema, { [long]: "x" });
    expect(line.length).toBeLessThanOrEqual(500);
    expect(line.isWellFormed()).toBe(true);
  }
});
