import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { keep } from "./kept-figures.ts";
import { presentHtml } from "./report/html.ts";
import { presentTable } from "./report/table.ts";
import { runBenches } from "./run-benches.ts";

/*
 * `npm run bench`: every figure next to its anchor. Flags: `--quick`, `--only NAME`, `--rounds N`, and `--keep`, which puts
 * the run into `figures.json` and the documents. The table goes to the terminal, JSON and a page of bars to
 * `test/bench/results/`. The exit code is 1 when a target was missed.
 */

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    rounds: { type: "string" },
    keep: { type: "boolean", default: false },
  },
});
const given = process.argv.slice(2).filter((argument) => argument !== "--keep");
const run = await runBenches({
  isQuick: values.quick,
  ...(values.only !== undefined && { only: values.only }),
  ...(values.rounds !== undefined && { rounds: Number(values.rounds) }),
  command: ["npm run bench", ...(given.length > 0 ? ["--", ...given] : [])].join(" "),
  say: (line) => console.error(line),
});
console.log(presentTable(run));

const results = new URL("results/", import.meta.url);
await mkdir(results, { recursive: true });
await writeFile(new URL("figures.json", results), `${JSON.stringify(run, undefined, 2)}\n`);
await writeFile(new URL("figures.html", results), presentHtml(run));
console.log(`JSON and bars: ${fileURLToPath(results)}`);
if (values.keep) await keep(run);
if (run.figures.some(({ isMet }) => isMet === false)) process.exitCode = 1;
