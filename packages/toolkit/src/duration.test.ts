import { expect, test } from "vitest";
import { durationProblem, parseDuration } from "./duration.ts";

test.each([
  [0, 0],
  [1500, 1500],
  ["250ms", 250],
  ["30s", 30_000],
  ["1.5s", 1500],
  ["15m", 900_000],
  ["2h", 7_200_000],
  ["7d", 604_800_000],
])("%j is %i milliseconds", (duration, ms) => {
  expect(parseDuration(duration)).toBe(ms);
});

test.each([-1, NaN, Infinity, "", "15", "15 m", "15min", "-1s", "s", "1h30m"])(
  "%j is no duration",
  (duration) => {
    expect(parseDuration(duration)).toBeUndefined();
  },
);

test("what is said of a bad duration shows it, and what a good one looks like", () => {
  expect(durationProblem("ttl", "15min")).toBe(
    'ttl is "15min", which is no duration: give milliseconds or a number with a unit, as "250ms", "30s", "15m", "2h" or "7d"',
  );
});
