import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Cluster, startCluster } from "@perdure/testkit";
import { presentReport, totalsOf } from "./report.ts";
import { listScenarios, runSuite } from "./suite.ts";

/*
 * `npm run conformance`: the official suite against a replica and a worker with the fixture tools, on a durable Redis
 * of their own. The last line is `N passed, N failed`. No failure is expected, and none is forgiven: any one ends it
 * with 1. With `--url URL` the suite runs against an endpoint that is already up.
 */

const TASK_SCENARIOS = 10;

async function check(url: string, directory: string): Promise<void> {
  const scenarios = await listScenarios();
  const tasks = scenarios.filter((name) => name.startsWith("tasks-")).length;
  if (tasks < TASK_SCENARIOS)
    throw new Error(`The suite lists ${tasks} scenarios for tasks, not ${TASK_SCENARIOS}`);
  const results = await runSuite(url, scenarios, directory);
  const { passed, failed } = totalsOf(results);
  console.log(presentReport(results));
  console.log(`${passed} passed, ${failed} failed`);
  if (failed > 0 || passed === 0) process.exitCode = 1;
}

const directory = await mkdtemp(join(tmpdir(), "perdure-conformance-"));
let cluster: Cluster | undefined;
const tearDown = async (): Promise<void> => {
  await cluster?.stop();
  await rm(directory, { recursive: true, force: true });
};
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    void tearDown().finally(() => process.exit(1));
  });
}

try {
  const at = process.argv.indexOf("--url");
  const given = at < 0 ? undefined : process.argv[at + 1];
  if (given === undefined)
    cluster = await startCluster({
      replicas: 1,
      workers: 1,
      redis: { appendfsync: "always" },
      env: { PERDURE_AUTH: "open", PERDURE_TOOLS: "@perdure/demo-tools" },
    });
  await check(given ?? cluster?.replicas[0]?.url ?? "", directory);
} catch (error) {
  console.error(error);
  console.log("0 passed, 1 failed");
  process.exitCode = 1;
} finally {
  await tearDown();
}
