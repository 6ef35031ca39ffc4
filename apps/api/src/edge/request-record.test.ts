import { expect, test } from "vitest";
import { createRequestIds } from "./request-record.ts";

test("request ids are short, safe in a header, and never the same", () => {
  const next = createRequestIds();
  const ids = Array.from({ length: 2000 }, next);
  expect(new Set(ids).size).toBe(2000);
  expect(ids.every((id) => /^[\w-]{12}$/.test(id))).toBe(true);
});
