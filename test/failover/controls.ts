import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { MUTATIONS, type Mutation } from "./mutations.ts";
import { copyTree } from "./source-tree.ts";

/*
 * `npm run chaos:controls`: takes one safeguard away at a time and requires the run to notice. Each runs on a copy of the
 * sources that is made for it and thrown away; nothing in the product can switch a safeguard off. A control that stays green
 * is a hole in the fault tests.
 */

interface Verdict {
  /** Red for the promise that it must break; green where nothing is missing. */
  readonly isRight: boolean;
  readonly said: string;
  readonly seconds: number;
}

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

/** Runs the fault tests on a copy without the safeguard. */
async function control(mutation: Mutation): Promise<Verdict> {
  const begin = performance.now();
  const folder = await mkdtemp(join(tmpdir(), "perdure-control-"));
  try {
    await copyTree(folder);
    await mutate(folder, mutation);
    const flags = [...mutation.flags, "--seed", values.seed ?? "1"];
    const { code, output } = await run(join(folder, "test/failover/main.ts"), flags);
    const [, verdict = "no verdict", broken = ""] = LAST_LINE.exec(output) ?? [];
    const { breaks, says = "" } = mutation;
    const first = output
      .split("\n")
      .find((line) => breaks.some((id) => line.startsWith(`${id} `)) && line.includes(says));
    const isRed = code === 1 && breaks.some((id) => broken.split(", ").includes(id)) && first !== undefined;
    const isRight = breaks.length === 0 ? code === 0 && verdict === "KEPT" : isRed;
    if (!isRight) console.log(output);
    return {
      isRight,
      said: isRight
        ? `${verdict}${first === undefined ? "" : `; ${first.slice(0, 200)}`}`
        : `exit code ${code}, ${verdict}`,
      seconds: Math.round((performance.now() - begin) / 1000),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
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

function run(main: string, flags: readonly string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...process.execArgv, main, ...flags], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}
