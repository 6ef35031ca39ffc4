import { parseArgs } from "node:util";
import { presentSoak, soak } from "./soak.ts";

/*
 * `npm run soak -- --minutes 10 --rate 20`: loads two replicas and a worker, waits until all must be back where it began,
 * prints the measurements as a table, and ends with 1 when something is not.
 */

const MINUTE = 60_000;
const { values } = parseArgs({
  options: { minutes: { type: "string", default: "10" }, rate: { type: "string", default: "20" } },
});
const report = await soak({
  durationMs: Number(values.minutes) * MINUTE,
  rate: Number(values.rate),
  say: (line) => console.error(line),
});
console.log(presentSoak(report));
if (report.problems.length > 0) process.exitCode = 1;
