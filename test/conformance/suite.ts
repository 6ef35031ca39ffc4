import { execFile, spawn } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** One thing that the official suite looked at. `INFO` is told by the suite about itself, and judges nothing. */
export interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly description: string;
  readonly errorMessage?: string;
}

/** What the suite said of one scenario. */
export interface ScenarioResult {
  readonly scenario: string;
  readonly checks: readonly Check[];
}

const BIN = fileURLToPath(
  new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url),
);
const REVISION = "2026-07-28";

/** The scenarios that must be run: all server scenarios of the revision, scored or not, and every one for tasks. */
export async function listScenarios(): Promise<readonly string[]> {
  const [required, all] = await Promise.all([list("--requirements", REVISION), list()]);
  const [scored = "", unscored = ""] = required.split("Run and reported, but never scored:");
  const names = new Set([
    ...matchAll(section(scored, "Server scenarios"), /^ {2}- (\S+)/gm),
    ...matchAll(unscored, /^ +- (\S+) \[server\]/gm),
    ...matchAll(section(all, "Server scenarios"), /^ {2}- (tasks-\S+)/gm),
  ]);
  return [...names];
}

/**
 * Runs the scenarios of the revision against the endpoint, then each of `scenarios` that those did not include, and
 * gives what the suite wrote to `directory`. Extension scenarios take no `--spec-version`: with it the suite skips them.
 */
export async function runSuite(
  url: string,
  scenarios: readonly string[],
  directory: string,
): Promise<ScenarioResult[]> {
  await conformance(["--url", url, "--requirements", REVISION, "--output-dir", directory]);
  const done = new Map((await readResults(directory)).map((result) => [result.scenario, result]));
  for (const scenario of scenarios.filter((name) => !done.has(name)))
    await conformance(["--url", url, "--scenario", scenario, "--output-dir", directory]);
  for (const result of await readResults(directory)) done.set(result.scenario, result);
  return [...new Set([...scenarios, ...done.keys()])].map(
    (scenario) => done.get(scenario) ?? notRun(scenario),
  );
}

/** A scenario that left no results has failed, whatever the suite's exit code was. */
function notRun(scenario: string): ScenarioResult {
  return {
    scenario,
    checks: [{ id: scenario, status: "FAILURE", description: "The scenario left no results" }],
  };
}

async function readResults(directory: string): Promise<ScenarioResult[]> {
  const folders = (await readdir(directory)).sort();
  const results = await Promise.all(
    folders.map(async (folder) => {
      const scenario = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(folder)?.[1];
      const text = await readFile(join(directory, folder, "checks.json"), "utf8").catch(() => "");
      if (!scenario || !text) return [];
      const checks: Check[] = JSON.parse(text);
      return [{ scenario, checks }];
    }),
  );
  return results.flat();
}

/** The exit code is not asked: the suite does not count what it calls "not scored", and we do. */
function conformance(args: readonly string[]): Promise<void> {
  const child = spawn(process.execPath, [BIN, "server", ...args], { stdio: ["ignore", "pipe", "inherit"] });
  child.stdout.on("data", (chunk: Buffer) => {
    for (const line of chunk.toString().split("\n"))
      if (line.startsWith("=== Running scenario")) console.log(line);
  });
  const kill = (): void => void child.kill();
  process.once("exit", kill);
  return new Promise<void>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", () => resolve());
  }).finally(() => process.off("exit", kill));
}

async function list(...args: readonly string[]): Promise<string> {
  return (await promisify(execFile)(process.execPath, [BIN, "list", "--server", ...args])).stdout;
}

/** From a heading to the next one. */
function section(text: string, heading: string): string {
  return text.slice(text.indexOf(heading)).split(/\n\n/)[0] ?? "";
}

function matchAll(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map((match) => match[1] ?? "");
}
