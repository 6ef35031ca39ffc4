import { expect, test } from "vitest";
import { isoTime } from "./iso-time.ts";

const DAY = 86_400_000;
const TODAY = Date.UTC(2026, 11, 7);

test("a time reads as toISOString has it, at the edges of days, minutes and seconds and in any order", () => {
  const edges = [0, 1, 999, 1000, 59_999, 60_000, 3_599_999, 3_600_000, DAY - 1];
  const days = [
    TODAY,
    0,
    Date.UTC(2024, 1, 29),
    TODAY - DAY,
    Date.UTC(2000, 0, 1),
    TODAY,
    Date.UTC(9999, 11, 31),
  ];
  const times = days.flatMap((day) => edges.map((edge) => day + edge));
  const scattered = Array.from({ length: 2000 }, (_, at) => (at * 7_919_777_777) % (400 * 365 * DAY));
  for (const ms of [...times, ...scattered]) expect(isoTime(ms)).toBe(new Date(ms).toISOString());
});
