import { parseArgs } from "node:util";
import { fuzz, presentFuzz } from "./fuzz.ts";
import { startHostileBench } from "./replica-bench.ts";

/*
 * `npm run hostile -- --requests 20000 --seed 1`: attacks a replica of its own with requests that know the schemas, and ends
 * with 1 when one of them got a server error, another tenant's byte, or did any harm.
 */

const { values } = parseArgs({
  options: { requests: { type: "string", default: "20000" }, seed: { type: "string" } },
});
await using bench = await startHostileBench();
const report = await fuzz(bench, {
  requests: Number(values.requests),
  seed: values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed),
  say: (line) => console.error(line),
});
console.log(presentFuzz(report));
if (report.problems.length > 0) process.exitCode = 1;
