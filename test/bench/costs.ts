import { writeFile } from "node:fs/promises";
import { startRedis } from "@perdure/testkit";
import { Redis } from "ioredis";
import { callsBetween, readCommandStats } from "./command-stats.ts";
import { shown } from "./report/numbers.ts";
import { inBatches, newTask, openPorts, RESULT, TENANT_REF } from "./stand.ts";

/*
 * What each step of a task costs Redis: commands and microseconds by `INFO commandstats`, bytes by `MEMORY USAGE`. It prints
 * what `scale-model.ts` is fed with, and with `--keep` writes it to `costs.json`:
 *
 *     node --conditions=perdure-source test/bench/costs.ts --keep
 */

const COUNT = 3000;
const costs = new Map<string, number>();
let bytesOfTask = 0;
/** These hold the time of the commands that they call: adding those would count twice. */
const SCRIPTS = new Set(["eval", "evalsha"]);

await using server = await startRedis();
const redis = new Redis(server.url);
const ports = await openPorts(server.url);

const sumOf = (values: Iterable<number>): number => [...values].reduce((sum, value) => sum + value, 0);

async function step<Value>(name: string, work: () => Promise<Value>): Promise<Value> {
  const before = await readCommandStats(redis);
  const value = await work();
  const calls = callsBetween(before, await readCommandStats(redis));
  const commands = sumOf([...calls.values()].map((each) => each.calls));
  const inScripts = sumOf([...SCRIPTS].map((script) => calls.get(script)?.microseconds ?? 0));
  const all = sumOf([...calls.values()].map((each) => each.microseconds));
  const microseconds = inScripts > 0 ? inScripts : all;
  console.log(
    `${name.padEnd(14)} ${shown(commands / COUNT).padStart(6)} commands  ${shown(microseconds / COUNT).padStart(6)} µs of Redis`,
  );
  costs.set(name, microseconds / COUNT);
  return value;
}

// The first of two passes makes the code hot, here and in Redis.
for (const pass of ["cold", "hot"]) {
  console.log(`\n${pass}`);
  const tasks = await inBatches(COUNT, async () => newTask());
  const ids = tasks.map(({ taskId }) => taskId);
  const created = await step("create", () => inBatches(COUNT, (i) => ports.store.create(tasks[i]!)));
  await step("sendWakeUp", () =>
    inBatches(COUNT, async (i) => {
      const reply = created[i]!;
      if (reply.verdict === "created") await ports.wakeUps.send(reply.wakeUp);
    }),
  );
  await step("takeWakeUp", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    let taken = 0;
    const consumer = ports.createWakeUpConsumer({ concurrency: 100 });
    await consumer.start(async () => {
      taken += 1;
      if (taken === COUNT) resolve();
    });
    await promise;
    await consumer.stop(1000);
  });
  const claims = await step("claim", () =>
    inBatches(COUNT, async (i) => {
      const reply = await ports.leases.claim({ tenantRef: TENANT_REF, taskId: ids[i]! });
      if (reply.verdict !== "claimed") throw new Error(`The task is not to be had: ${reply.verdict}`);
      return reply.task.claim;
    }),
  );
  await step("heartbeat", () => inBatches(COUNT, (i) => ports.leases.heartbeat(claims[i]!)));
  await step("step", () => inBatches(COUNT, (i) => ports.leases.recordStep(claims[i]!, "one", '{"v":1}')));
  await step("progress", () => inBatches(COUNT, (i) => ports.leases.progress(claims[i]!, "half way")));
  await step("settle", () =>
    inBatches(COUNT, (i) => ports.leases.settle(claims[i]!, { status: "completed", result: RESULT })),
  );
  await step("get", () =>
    inBatches(COUNT, (i) => ports.store.read({ owner: tasks[i]!.owner, taskId: ids[i]! })),
  );
  const key = `{s00}:t:${TENANT_REF}:${ids[0]!}`;
  bytesOfTask = Number(await redis.memory("USAGE", key, "SAMPLES", "0"));
  console.log(`an ended task keeps ${shown(bytesOfTask)} bytes`);
}
await ports.stop();
redis.disconnect();
if (process.argv.includes("--keep")) {
  const kept = { at: new Date().toISOString(), redis: Object.fromEntries(costs), bytesOfTask };
  await writeFile(new URL("costs.json", import.meta.url), `${JSON.stringify(kept, undefined, 2)}\n`);
}
