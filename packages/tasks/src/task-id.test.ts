import { expect, test } from "vitest";
import { isTaskId, mintNonce, mintTaskId } from "./task-id.ts";

const COUNT = 3000;

test("task ids are of proper form, safe in a header, and never the same", () => {
  const ids = Array.from({ length: COUNT }, mintTaskId);
  expect(new Set(ids).size).toBe(COUNT);
  expect(ids.every(isTaskId)).toBe(true);
});

test("ids of requests, claims and operations are short, safe in a header, and never the same", () => {
  const ids = Array.from({ length: COUNT }, mintNonce);
  expect(new Set(ids).size).toBe(COUNT);
  expect(ids.every((id) => /^[\w-]{12}$/.test(id))).toBe(true);
});

test("no id tells anything of another: each of its characters takes every value", () => {
  const ids = Array.from({ length: COUNT }, mintTaskId);
  for (let at = 0; at < 24; at += 1) expect(new Set(ids.map((id) => id[at])).size).toBe(64);
});
