import { afterAll, beforeAll, expect, test } from "vitest";
import { fuzz } from "./fuzz.ts";
import type { FuzzReport } from "./fuzz.ts";
import { startHostileBench } from "./replica-bench.ts";
import type { HostileBench } from "./replica-bench.ts";

let bench: HostileBench;
let report: FuzzReport;
beforeAll(async () => {
  bench = await startHostileBench();
  report = await fuzz(bench, { requests: 1500, seed: 20_260_728 });
}, 120_000);
afterAll(() => bench?.[Symbol.asyncDispose]());

test("1,500 requests that know the schemas get no server error and no byte of others, do no harm, and do not fatten the replica", () => {
  expect(report.problems).toEqual([]);
});

test("they were no blanks: every method was reached, and requests were served, refused and unauthorized", () => {
  const unserved = [...report.methods].filter(([, { results }]) => results === 0).map(([method]) => method);
  expect(unserved.sort()).toEqual(["initialize", "tasks/list", "tasks/result"]);
  for (const status of [200, 202, 400, 401, 404, 413, 415])
    expect(report.statuses.get(status) ?? 0).toBeGreaterThan(0);
});
