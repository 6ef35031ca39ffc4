import { setTimeout as delay } from "node:timers/promises";
import { startRedis } from "@perdure/testkit";
import { Redis } from "ioredis";
import type { Bench } from "../bench.ts";
import { callsBetween, readCommandStats } from "../command-stats.ts";
import { fillWithCopies } from "../fill.ts";
import { startProgram } from "../programs/program.ts";
import { newTask, openPorts, TENANT_REF, type Ports } from "../stand.ts";

const PARKED = 50_000;
const WORKERS = 20;

/** What Redis is asked while nothing happens: tasks that wait for their clients, and workers that wait for tasks. */
export const rest: Bench = {
  name: "rest",
  rounds: { whole: 3, quick: 1 },
  warmsUp: false,
  figures: [
    {
      name: "rest",
      title: "Redis commands per second at rest, 50,000 parked tasks, 20 idle workers",
      unit: "/s",
      target: { kind: "at most", score: 50 },
    },
  ],
  async open({ isQuick }) {
    const windowMs = isQuick ? 20_000 : 40_000;
    const server = await startRedis();
    const redis = new Redis(server.url);
    const ports = await openPorts(server.url);
    await fillWithCopies(redis, await storeParked(ports), PARKED);
    await ports.stop();
    const workers = await startProgram("programs/idle-workers.ts", [server.url, String(WORKERS)]);
    await delay(2000);
    return {
      async round() {
        const before = await readCommandStats(redis);
        const startedMs = performance.now();
        await delay(windowMs);
        const calls = callsBetween(before, await readCommandStats(redis));
        const seconds = (performance.now() - startedMs) / 1000;
        const all = [...calls.values()].reduce((sum, each) => sum + each.calls, 0);
        const largest = [...calls].sort(([, a], [, b]) => b.calls - a.calls).slice(0, 8);
        return {
          rest: {
            ours: all / seconds,
            aside: Object.fromEntries(largest.map(([name, each]) => [name, each.calls / seconds])),
          },
        };
      },
      async close() {
        await workers.stop();
        redis.disconnect();
        await server.stop();
      },
    };
  },
};

async function storeParked({ store, leases }: Ports): Promise<string> {
  const task = newTask();
  await store.create(task);
  const reply = await leases.claim({ tenantRef: TENANT_REF, taskId: task.taskId });
  if (reply.verdict !== "claimed") throw new Error(`The task is not to be had: ${reply.verdict}`);
  const request = `{"method":"elicitation/create","params":{"mode":"form","message":"${"q".repeat(200)}","requestedSchema":{"type":"object","properties":{}}}}`;
  await leases.park(reply.task.claim, { requests: [{ key: "name", request }], sleeps: [] });
  return task.taskId;
}
