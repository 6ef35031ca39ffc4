import { expect, test } from "vitest";
import { createPollPacer } from "./poll-pacer.ts";

const poll = { owner: { tenant: "acme", principal: "alice" }, taskId: "t", pollIntervalMs: 1000 };

function pacerAt(): { readonly pace: (afterMs: number, taskId?: string) => number | "refused" } {
  let now = 0;
  const pacer = createPollPacer(() => now);
  return {
    pace(afterMs, taskId = "t") {
      now += afterMs;
      const paced = pacer.pace({ ...poll, taskId });
      return paced.verdict === "served" ? paced.pollIntervalMs : "refused";
    },
  };
}

test("a client that polls in time is always told the task's own interval", () => {
  const { pace } = pacerAt();
  expect(Array.from({ length: 50 }, () => pace(1000))).toEqual(Array.from({ length: 50 }, () => 1000));
});

test("a client that polls too fast is told an interval that grows, up to half a minute", () => {
  const { pace } = pacerAt();
  const told = Array.from({ length: 60 }, () => Number(pace(100)));
  expect(told.slice(0, 3)).toEqual([1000, 1000, 1000]);
  expect(told.toSorted((a, b) => a - b)).toEqual(told);
  expect(told.at(-1)).toBe(30_000);
});

test("a client that keeps to what it is told is even again", () => {
  const { pace } = pacerAt();
  const told = Number(Array.from({ length: 20 }, () => pace(100)).at(-1));
  expect(told).toBeGreaterThan(1000);
  pace(told);
  expect(pace(1000)).toBeLessThan(told);
});

test("a client is refused only when it polls hundreds of times ahead, and served again after that", () => {
  const { pace } = pacerAt();
  const answers = Array.from({ length: 700 }, () => pace(1));
  expect(answers.slice(0, 600)).not.toContain("refused");
  expect(answers.at(-1)).toBe("refused");
  expect(pace(700_000)).toBe(1000);
});

test("what one task's polls owe, another's do not, and the memory is bounded", () => {
  const { pace } = pacerAt();
  for (let n = 0; n < 20; n += 1) pace(0);
  expect(pace(0, "other")).toBe(1000);
  for (let n = 0; n < 10_000; n += 1) pace(0, `task ${n}`);
  expect(pace(0)).toBe(1000);
});
