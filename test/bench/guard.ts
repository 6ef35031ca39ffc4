import { worsened } from "./figures.ts";
import { readKept } from "./kept-figures.ts";
import { shown } from "./report/numbers.ts";
import { presentTable } from "./report/table.ts";
import { runBenches } from "./run-benches.ts";

/*
 * `npm run bench:guard`: the quick form, compared with the quick figures that the repository keeps. The exit code is 1 when
 * a score is worse by more than 30 %. What seems so is measured once more by itself, with more rounds, before it is said: a
 * machine that others use has bad moments.
 */

const TOLERANCE = 0.3;
const ROUNDS_IN_DOUBT = 7;

const { quick: kept } = await readKept();
if (!kept) throw new Error("No quick figures are kept: npm run bench -- --quick --keep");
const say = (line: string): void => console.error(line);
const run = await runBenches({ isQuick: true, command: "npm run bench:guard", say });
console.log(presentTable(run));

let isWorse = false;
for (const { name } of worsened(kept, run, TOLERANCE)) {
  say(`${name} seems worse; once more`);
  const command = `npm run bench -- --quick --only ${name}`;
  const again = await runBenches({ isQuick: true, only: name, rounds: ROUNDS_IN_DOUBT, command, say });
  for (const found of worsened(kept, again, TOLERANCE).filter((each) => each.name === name)) {
    isWorse = true;
    const percent = Math.round(100 * found.by);
    console.log(`${name} is worse by ${percent} %: ${shown(found.now)}, kept ${shown(found.kept)}`);
  }
}
if (isWorse) process.exitCode = 1;
else console.log("No figure is worse than the kept ones by more than 30 %");
