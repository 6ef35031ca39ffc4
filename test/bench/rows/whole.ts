import { startCluster, until } from "@perdure/testkit";
import { Redis } from "ioredis";
import type { Bench } from "../bench.ts";
import { startProgram } from "../programs/program.ts";
import { cpuOf, QUIET } from "../stand.ts";
import { BENCH_TOOLS } from "./create.ts";

const CONCURRENCY = 100;
const IN_FLIGHT = 64;
const OPEN_TASKS = "{s00}:open";

/** Tasks from their creation to their end, by one worker process, next to jobs that do nothing and keep nothing. */
export const whole: Bench = {
  name: "whole",
  figures: [
    {
      name: "whole",
      title: "whole tasks per second (create, claim, complete), worker concurrency 100",
      unit: "/s",
      anchorTitle: "no-op BullMQ queue, same concurrency",
      target: { kind: "at least", score: 0.4 },
    },
  ],
  async open({ requests: count }) {
    const cluster = await startCluster({
      replicas: 0,
      workers: 1,
      redis: { appendfsync: "always" },
      env: { ...QUIET, PERDURE_TOOLS: BENCH_TOOLS, PERDURE_CONCURRENCY: String(CONCURRENCY) },
    });
    const { url } = cluster.redis;
    const redis = new Redis(url);
    const [creator, producer, worker] = await Promise.all([
      startProgram("programs/creator.ts", [url, "durable"]),
      startProgram("anchors/add-and-set.ts", [url, "job"]),
      startProgram("anchors/noop-worker.ts", [url, String(CONCURRENCY)]),
    ]);
    const timed = async (work: () => Promise<unknown>): Promise<number> => {
      const startedMs = performance.now();
      await work();
      return (performance.now() - startedMs) / 1000;
    };
    const timeoutMs = 120_000;
    const runTasks = (): Promise<number> =>
      timed(async () => {
        await creator.ask("run", { count, inFlight: IN_FLIGHT });
        const isOver = async (): Promise<boolean> => Number(await redis.get(OPEN_TASKS)) === 0;
        await until(isOver, { what: "all tasks to end", timeoutMs });
      });
    const runJobs = async (): Promise<number> => {
      const before = await worker.ask<number>("done");
      return timed(async () => {
        await producer.ask("run", { count, inFlight: IN_FLIGHT });
        const isOver = async (): Promise<boolean> => (await worker.ask<number>("done")) >= before + count;
        await until(isOver, { what: "all jobs to end", timeoutMs });
      });
    };
    return {
      async round() {
        const role = cluster.workers[0]!;
        const [cpu, anchorCpu] = [await cpuOf(role), await worker.cpu()];
        const [tasksTook, jobsTook] = [await runTasks(), await runJobs()];
        return {
          whole: {
            ours: count / tasksTook,
            anchor: count / jobsTook,
            aside: {
              "worker µs CPU": ((await cpuOf(role)) - cpu) / count,
              "anchor µs CPU": ((await worker.cpu()) - anchorCpu) / count,
            },
          },
        };
      },
      async close() {
        redis.disconnect();
        await Promise.all([creator, producer, worker].map((program) => program.stop()));
        await cluster.stop();
      },
    };
  },
};
