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
  readonly isRed: boolean;
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
  console.log(`    ${verdict.isRed ? "red, as it must be" : "NOT RED"}: ${verdict.said}`);
}

console.log(`\n  ${"control".padEnd(26)}${"must break".padEnd(12)}${"verdict".padEnd(10)}seconds`);
for (const [{ name, breaks }, { isRed, said, seconds }] of verdicts)
  console.log(
    `  ${name.padEnd(26)}${breaks.join(", ").padEnd(12)}${(isRed ? "red" : "NOT RED").padEnd(10)}${String(seconds).padStart(4)}   ${said}`,
  );
const holes = verdicts.filter(([, { isRed }]) => !isRed).length;
console.log(`${verdicts.length - holes} red, ${holes} holes`);
if (holes > 0) process.exitCode = 1;

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
    const isExpected = mutation.breaks.some((promise) => broken.split(", ").includes(promise));
    const first = new RegExp(`^(?:${mutation.breaks.join("|")}) .*$`, "m").exec(output)?.[0] ?? "";
    const isRed = code === 1 && isExpected;
    if (!isRed) console.log(output);
    return {
      isRed,
      said: isRed ? `${verdict}; ${first.slice(0, 200)}` : `exit code ${code}, ${verdict}`,
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
