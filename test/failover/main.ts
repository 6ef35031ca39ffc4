import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { judgeAll } from "./judge.ts";
import { parseOptions } from "./options.ts";
import {
  gapsIn,
  presentAll,
  presentBite,
  presentFaults,
  presentFindings,
  presentTasks,
  presentViolations,
} from "./report.ts";
import { runChaos } from "./run-chaos.ts";
import { ROOT } from "./source-tree.ts";
import { LEASE_MS, type Stage, startStage } from "./stage.ts";

/*
 * `npm run chaos`: two replicas, three workers and a Redis as processes, each behind a proxy of its own; clients that make
 * tasks of all kinds; faults of all kinds. Then everything that anybody saw is held against the promises. Exit code 1 when
 * one was not kept, or when the run did not contain what it must.
 */

const options = parseOptions(process.argv.slice(2));
const begin = performance.now();
const say = (line: string): void =>
  console.log(`${((performance.now() - begin) / 1000).toFixed(0).padStart(4)} s  ${line}`);

let stage: Stage | undefined;
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    void Promise.resolve(stage?.[Symbol.asyncDispose]()).finally(() => process.exit(130));
  });
}

say(`seed ${options.seed}`);
try {
  stage = await startStage({ replicas: 2, workers: 3 }, options.previous);
  say(`2 replicas and 3 workers, lease ${LEASE_MS} ms; previous build: ${stage.previous.about}`);
  const evidence = await runChaos(stage, options, say);
  const findings = judgeAll(evidence);
  const gaps = gapsIn(evidence, findings, options);
  const violations = findings.flatMap((finding) => finding.violations);

  console.log(
    `\n${presentFaults(evidence, options)}\n\n${presentFindings(findings)}\n\n${presentTasks(evidence)}\n${presentBite(evidence)}`,
  );
  if (options.keep !== "") {
    cpSync(stage.cluster.dir, options.keep, { recursive: true, filter: (path) => !path.endsWith(".aof") });
    writeFileSync(join(options.keep, "tasks.txt"), presentAll(evidence));
    writeFileSync(join(options.keep, "redis.txt"), await stage.redis.info("all"));
  }
  if (violations.length > 0) {
    const folder = join(ROOT, "results");
    const file = join(folder, `chaos-${options.seed}.txt`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, presentViolations(findings, evidence, true));
    console.log(`\n${presentViolations(findings, evidence)}\n\nAll of it is in ${file}`);
  }
  for (const gap of gaps) console.log(`GAP: ${gap}`);
  const broken = [...new Set(violations.map(({ promise }) => promise))];
  const verdict =
    broken.length > 0 ? `BROKEN: ${broken.join(", ")}` : gaps.length > 0 ? "NOT PROVED" : "KEPT";
  const flags = process.argv
    .slice(2)
    .join(" ")
    .replace(/ ?--seed[ =]\d+/, "");
  say(`${verdict}. Again with: npm run chaos -- ${flags} --seed ${options.seed}`.replaceAll("  ", " "));
  if (verdict !== "KEPT") process.exitCode = 1;
} catch (error) {
  console.error(error);
  process.exitCode = 1;
} finally {
  await stage?.[Symbol.asyncDispose]();
}
