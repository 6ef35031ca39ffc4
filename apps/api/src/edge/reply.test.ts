import { expect, test } from "vitest";
import { accepts } from "./reply.ts";

test.each([
  [undefined, true],
  ["", true],
  ["*/*", true],
  ["application/json, text/event-stream", true],
  ["TEXT/EVENT-STREAM; charset=utf-8", true],
  ["text/*;q=0.5", true],
  ["application/json", false],
  ["text/event-stream;q=0", false],
  ["text/event-stream;q=0.0, application/json", false],
  ["text/html", false],
])("Accept %s lets an event stream through: %s", (header, expected) => {
  expect(accepts(header, "text/event-stream")).toBe(expected);
});
