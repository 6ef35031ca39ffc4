import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog } from "./log.ts";
import { reportTrouble } from "./report-trouble.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("the same trouble is told once in half a minute, with how often it came; another one at once", () => {
  const lines: string[] = [];
  const log = createLog({
    level: "info",
    role: "worker",
    destination: { write: (line) => lines.push(line) },
  });
  const onError = reportTrouble(log, "Trouble with Redis");
  for (let second = 0; second < 31; second += 1) {
    onError(new Error("refused"));
    vi.advanceTimersByTime(1000);
  }
  onError(new Error("reset"));
  const told = lines.map((line) => JSON.parse(line));
  expect(told.map((line) => line.err.message)).toEqual(["refused", "refused", "reset"]);
  expect(told[1]).toMatchObject({ timesSinceLast: 29, msg: "Trouble with Redis" });
});
