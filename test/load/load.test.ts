import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cluster, startCluster } from "@perdure/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeReport } from "../../apps/cli/src/commands/load.ts";
import { parseMix } from "../../apps/cli/src/load/mix.ts";
import type { LoadReport } from "../../apps/cli/src/load/report.ts";
import { startLoad } from "../../apps/cli/src/load/run-load.ts";

/* Five seconds of load against real processes, and what its report says. */

let cluster: Cluster;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "perdure-load-"));
  cluster = await startCluster({ replicas: 1, workers: 2, env: { PERDURE_LEASE_MS: "1000" } });
});
afterAll(async () => {
  await cluster?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Tags that are opened and not closed, or the other way round. */
function unbalanced(markup: string): readonly string[] {
  const open: string[] = [];
  for (const [, slash, name = "", , self] of markup.matchAll(
    /<(\/?)([a-z]\w*)((?:[^<>"]|"[^"]*")*?)(\/?)>/g,
  )) {
    if (self === "/") continue;
    if (slash === "") open.push(name);
    else if (open.pop() !== name) return [`</${name}>`];
  }
  return open;
}

test("a worker that is killed under load loses no task, and the report shows it", async () => {
  const seen: number[] = [];
  const running = startLoad({
    url: cluster.replicas[0]!.url,
    token: await cluster.token(),
    rate: 20,
    seconds: 5,
    mix: parseMix("plain=4,stepped=2,input=1,sleep=1"),
    followers: new Map([
      ["poller", 1],
      ["listener", 1],
    ]),
    maxOpen: 500,
    drainSeconds: 30,
    opsUrls: () => [...cluster.replicas, ...cluster.workers].map(({ opsUrl }) => opsUrl),
    onSecond: ({ at }) => {
      seen.push(at);
      if (seen.length !== 2) return;
      running.mark("worker killed");
      cluster.workers[0]!.signal("SIGKILL");
    },
  });
  const report = await running.report;

  expect(report.lost).toBe(0);
  expect(report.counts.completed).toBe(report.counts.created);
  expect(report.counts).toMatchObject({
    mixedUp: 0,
    failedTasks: 0,
    missingFrames: 0,
    refused: 0,
    failedRequests: 0,
  });
  expect(report.counts.created).toBeGreaterThanOrEqual(80);
  expect(report.counts.frames).toBeGreaterThan(0);
  expect(seen.length).toBeGreaterThanOrEqual(5);
  for (const kind of ["plain", "stepped", "input", "sleep"] as const)
    expect(report.latencies.task[kind].count).toBeGreaterThan(0);
  expect(report.seconds.reduce((total, { completed }) => total + completed, 0)).toBe(report.counts.completed);
  expect(report.faults).toMatchObject([{ name: "worker killed" }]);
  expect(new Set(report.usage.map(({ role }) => role))).toEqual(new Set(["api", "worker"]));

  const out = join(folder, "report");
  await writeReport(report, { out, command: "npx perdure load <here> & there" });
  const page = await readFile(`${out}.html`, "utf8");
  const picture = await readFile(`${out}.svg`, "utf8");
  const json: LoadReport = JSON.parse(await readFile(`${out}.json`, "utf8"));
  expect(json.counts).toEqual(report.counts);
  expect(unbalanced(picture)).toEqual([]);
  expect(picture).toContain(">worker killed</text>");
  expect(picture.match(/<path d="M[\d.,ML-]+"/g)).toHaveLength(11);
  expect(picture).not.toMatch(/NaN|Infinity|undefined/);
  expect(page).toContain(picture.trim());
  expect(page).toContain("No task was lost.");
  expect(page).toContain("npx perdure load &lt;here&gt; &amp; there");
  expect(page).not.toMatch(/<script|src=|href=/);
});
