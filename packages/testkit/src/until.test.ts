import { expect, test } from "vitest";
import { until } from "./until.ts";

test("gives the first value that is there, zero and the empty text among them", async () => {
  const values = [undefined, null, false, 0];
  expect(await until(() => values.shift(), { what: "a value" })).toBe(0);
  expect(await until(() => Promise.resolve(""), { what: "a value" })).toBe("");
});

test("names what it waited for when that does not come", async () => {
  await expect(until(() => false, { what: "rain", timeoutMs: 30 })).rejects.toThrow("for: rain");
});

test("lets an error of the condition through at once", async () => {
  const broken = Promise.reject(new Error("broken"));
  await expect(until(() => broken, { what: "a value" })).rejects.toThrow("broken");
});
