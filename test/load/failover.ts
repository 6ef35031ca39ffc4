import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import {
  createProgressLine,
  loadOptionsOf,
  sentenceOf,
  writeReport,
} from "../../apps/cli/src/commands/load.ts";
import { type RunningLoad, startLoad } from "../../apps/cli/src/load/run-load.ts";
import { type ComposeCluster, type ComposeService, startComposeCluster } from "../compose/compose-cluster.ts";

/*
 * `npm run load:failover`: brings up the cluster of docker-compose.yml, loads it as `perdure load` does, and kills a replica,
 * a worker and Redis in turn while it runs. The report has the faults on the picture. Ends with 1 when a task was lost,
 * failed, or ended with another's result.
 *
 *     npm run load:failover -- --rate 20 --duration 120s --out load-failover
 */

/** Who is killed next, how long it stays away, and how long the cluster then has to itself. Seconds. */
const SCHEDULE: readonly {
  readonly service: ComposeService;
  readonly name: string;
  readonly away: number;
  readonly calm: number;
}[] = [
  { service: "api", name: "replica killed", away: 5, calm: 10 },
  { service: "worker", name: "worker killed", away: 5, calm: 15 },
  { service: "redis", name: "Redis killed", away: 3, calm: 20 },
];
const FIRST_AFTER = 10;

const { values } = parseArgs({
  options: {
    rate: { type: "string", default: "20" },
    duration: { type: "string", default: "120s" },
    mix: { type: "string", default: "plain=4,stepped=2,input=1,sleep=1" },
    out: { type: "string", default: "load-failover" },
  },
});

/** Addresses of the ops ports, inside of Docker's network, which a Linux host reaches. */
async function opsUrlsOf(cluster: ComposeCluster): Promise<readonly string[]> {
  const names = [...(await cluster.containers("api")), ...(await cluster.containers("worker"))];
  const format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
  const addresses = (await cluster.docker("inspect", "-f", format, ...names)).split("\n").filter(Boolean);
  return addresses.map((address) => `http://${address}:9400`);
}

/** Kills by the schedule, over and over, until `over` is aborted. Every container that was killed is started again. */
async function kill(cluster: ComposeCluster, load: RunningLoad, over: AbortSignal): Promise<void> {
  const wait = (seconds: number): Promise<void> =>
    delay(seconds * 1000, undefined, { signal: over }).catch(() => {});
  await wait(FIRST_AFTER);
  for (let turn = 0; !over.aborted; turn += 1) {
    const next = SCHEDULE[turn % SCHEDULE.length];
    if (!next) return;
    const names = await cluster.containers(next.service);
    const victim = names[Math.floor(turn / SCHEDULE.length) % names.length];
    if (victim === undefined) throw new Error(`No container of ${next.service} runs`);
    const isBack = load.mark(next.name);
    await cluster.docker("kill", victim);
    await wait(next.away);
    await cluster.docker("start", victim);
    isBack();
    await wait(next.calm);
  }
}

process.stderr.write("Bringing up the cluster of docker-compose.yml\n");
await using cluster = await startComposeCluster();
const options = loadOptionsOf({ ...values, pollers: 1, listeners: 1, open: 2000, drain: "120s", ops: "" });
const over = new AbortController();
const interrupted = new AbortController();
// The load ends early, the report is written and the cluster taken down all the same.
process.once("SIGINT", () => {
  over.abort();
  interrupted.abort();
});
let opsUrls = await opsUrlsOf(cluster);
const load = startLoad({
  ...options,
  url: cluster.url,
  token: await cluster.token(),
  opsUrls: () => opsUrls,
  onSecond: createProgressLine(process.stderr),
  signal: interrupted.signal,
});
const refresh = setInterval(() => {
  opsUrlsOf(cluster).then(
    (urls) => (opsUrls = urls),
    () => {},
  );
}, 10_000);
// The last fault leaves the load some time to be as it was.
const lastFault = setTimeout(() => over.abort(), Math.max(0, options.seconds - 15) * 1000);
const killing = kill(cluster, load, over.signal);
const report = await load.report;
clearTimeout(lastFault);
clearInterval(refresh);
over.abort();
await killing;

const command = `npm run load:failover -- --rate ${values.rate} --duration ${values.duration}`;
await writeReport(report, { out: values.out, command });
process.stdout.write(`\n${sentenceOf(report)}\n`);
for (const { name, at, recoverSeconds } of report.faults) {
  const felt =
    recoverSeconds === undefined ? "not seen to recover" : `felt for ${recoverSeconds.toFixed(1)} s`;
  process.stdout.write(`${at.toFixed(1)} s  ${name}: ${felt}\n`);
}
process.stdout.write(`${values.out}.html, .svg and .json\n`);
if (report.lost > 0 || report.counts.failedTasks > 0 || report.counts.mixedUp > 0) process.exitCode = 1;
