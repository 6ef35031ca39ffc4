import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCluster, until } from "@perdure/testkit";
import type { Bench } from "../bench.ts";
import { QUIET } from "../stand.ts";
import { BENCH_TOOLS } from "./create.ts";

const SLACK_MS = 1000;

/** From `kill -9` of a worker to the first line of its task's code in another one. */
export const takeover: Bench = {
  name: "takeover",
  rounds: { whole: 5, quick: 2 },
  warmsUp: false,
  figures: [
    {
      name: "takeover",
      title: "from kill -9 of a worker to its task running elsewhere, over the lease",
      unit: "ms",
      target: { kind: "at most", score: SLACK_MS },
      // It depends on where in its lease a worker dies; what is within the target is not told apart.
      guardFloor: SLACK_MS,
    },
  ],
  async open({ isQuick }) {
    const leaseMs = isQuick ? 2000 : 10_000;
    const dir = await mkdtemp(join(tmpdir(), "perdure-bench-"));
    const cluster = await startCluster({
      replicas: 1,
      workers: 2,
      env: { ...QUIET, PERDURE_TOOLS: BENCH_TOOLS, PERDURE_LEASE_MS: String(leaseMs) },
    });
    const client = await cluster.client();
    let rounds = 0;
    return {
      async round() {
        const file = join(dir, `runs-${rounds++}`);
        const ran = async (times: number): Promise<number | undefined> => {
          const lines = (await readFile(file, "utf8").catch(() => "")).split("\n").filter(Boolean);
          return lines.length < times ? undefined : Number(lines.at(-1));
        };
        const runs = (times: number): Promise<number> =>
          until(() => ran(times), { what: `run ${times} of the task`, timeoutMs: 4 * leaseMs + 20_000 });
        const taskId = await client.create("bench_hold", { file });
        const pid = await runs(1);
        process.kill(pid, "SIGKILL");
        const killedMs = performance.now();
        await runs(2);
        const tookMs = performance.now() - killedMs;
        await client.cancel(taskId);
        await cluster.startWorker();
        return { takeover: { ours: tookMs - leaseMs, aside: { "lease ms": leaseMs, "in all ms": tookMs } } };
      },
      async close() {
        await cluster.stop();
        await rm(dir, { recursive: true });
      },
    };
  },
};
