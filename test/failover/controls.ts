import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";
import { MUTATIONS, type Mutation } from "./mutations.ts";
import { ROOT, copyTree } from "./source-tree.ts";

/*
 * `npm run chaos:controls`: takes one safeguard away at a time and requires the run to notice. Each runs on a copy of the
 * sources that is made for it and thrown away; nothing in the product can switch a safeguard off. A control that stays green
 * is a hole in the fault tests.
 */

interface Judged {
  /** Red for the promise that it must break; green where nothing is missing. */
  readonly isRight: boolean;
  readonly said: string;
  readonly output: string;
}

interface Verdict extends Judged {
  readonly seconds: number;
}

const vitestReport = z.looseObject({
  testResults: z.array(
    z.looseObject({
      assertionResults: z.array(z.looseObject({ fullName: z.string(), status: z.string() })),
    }),
  ),
});

const LAST_LINE = /^ *\d+ s {2}(KEPT|NOT PROVED|BROKEN: ([I\d, ]+))\./m;

const { values } = parseArgs({ options: { only: { type: "string" }, seed: { type: "string" } } });
const chosen = MUTATIONS.filter(({ name }) => values.only?.split(",").includes(name) ?? true);
if (chosen.length === 0) throw new Error(`There is no control ${values.only}`);

const verdicts: [Mutation, Verdict][] = [];
for (const mutation of chosen) {
  console.log(`--- ${mutation.name}: ${mutation.about}`);
  const verdict = await control(mutation);
  verdicts.push([mutation, verdict]);
  console.log(`    ${wordOf(mutation, verdict)}: ${verdict.said}`);
}

console.log(`\n  ${"control".padEnd(28)}${"must break".padEnd(12)}${"verdict".padEnd(10)}seconds`);
for (const [mutation, verdict] of verdicts) {
  const { name, breaks } = mutation;
  console.log(
    `  ${name.padEnd(28)}${(breaks.join(", ") || "nothing").padEnd(12)}${wordOf(mutation, verdict).padEnd(10)}${String(verdict.seconds).padStart(4)}   ${verdict.said}`,
  );
}
const holes = verdicts.filter(([, { isRight }]) => !isRight).length;
console.log(`${verdicts.length - holes} as they must be, ${holes} holes`);
if (holes > 0) process.exitCode = 1;

function wordOf({ breaks }: Mutation, { isRight }: Verdict): string {
  const colour = breaks.length === 0 ? "green" : "red";
  return isRight ? colour : `NOT ${colour.toUpperCase()}`;
}

/** Runs what is aimed at the safeguard on a copy that lacks it. */
async function control(mutation: Mutation): Promise<Verdict> {
  const begin = performance.now();
  const folder = await mkdtemp(join(tmpdir(), "perdure-control-"));
  try {
    await copyTree(folder);
    await mutate(folder, mutation);
    const judged =
      "flags" in mutation.run
        ? await judgeChaos(folder, mutation, mutation.run.flags)
        : await judgeTests(folder, mutation, mutation.run.tests);
    if (!judged.isRight) console.log(judged.output);
    return { ...judged, seconds: Math.round((performance.now() - begin) / 1000) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Right when the run ends with a violation of the promise, and one that says what it must. */
async function judgeChaos(
  folder: string,
  { breaks, says = "" }: Mutation,
  flags: readonly string[],
): Promise<Judged> {
  const args = [join(folder, "test/failover/main.ts"), ...flags, "--seed", values.seed ?? "1"];
  const { code, output } = await run([...process.execArgv, ...args], folder);
  const [, verdict = "no verdict", broken = ""] = LAST_LINE.exec(output) ?? [];
  const first = output
    .split("\n")
    .find((line) => breaks.some((id) => line.startsWith(`${id} `)) && line.includes(says));
  const isRed = code === 1 && breaks.some((id) => broken.split(", ").includes(id)) && first !== undefined;
  const isRight = breaks.length === 0 ? code === 0 && verdict === "KEPT" : isRed;
  const said = isRight
    ? `${verdict}${first === undefined ? "" : `; ${first.slice(0, 200)}`}`
    : `exit code ${code}, ${verdict}`;
  return { isRight, said, output };
}

/** Right when a test with the promise in its title fails, and the file was run at all. */
async function judgeTests(folder: string, { breaks }: Mutation, tests: string): Promise<Judged> {
  const config = tests.startsWith("test/soak/") ? "vitest.faults.config.ts" : "vitest.config.ts";
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
  const report = join(folder, "report.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
  const { code, output } = await run([vitest, "run", "--config", config, ...reporters, tests], folder);
  const { testResults } = vitestReport.parse(JSON.parse(await readFile(report, "utf8")));
  const failed = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === "failed")
    .map(({ fullName }) => fullName);
  const first = failed.find((title) => breaks.some((id) => title.startsWith(`${id}: `)));
  const isRight = code === 1 && first !== undefined;
  const said = isRight
    ? `${failed.length} failed; ${first.slice(0, 200)}`
    : `exit code ${code}, ${failed.length} failed`;
  return { isRight, said, output };
}

async function mutate(folder: string, { name, replacements }: Mutation): Promise<void> {
  for (const { file, text, by } of replacements) {
    const path = join(folder, file);
    const source = await readFile(path, "utf8");
    const parts = source.split(text);
    if (parts.length !== 2)
      throw new Error(`${name}: ${file} has the text ${parts.length - 1} times, not once:\n${text}`);
    await writeFile(path, parts.join(by));
  }
}

function run(
  args: readonly string[],
  cwd: string,
): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}
