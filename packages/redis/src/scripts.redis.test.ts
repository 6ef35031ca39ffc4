import type { Claim } from "@perdure/tasks";
import { created } from "@perdure/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Scripts } from "./scripts.ts";
import { ASKED, SITUATIONS, settlementOf } from "./testing/situations.ts";
import { namesOf, newTask, startBench } from "./testing/start-bench.ts";
import type { Bench, Sides } from "./testing/start-bench.ts";

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench[Symbol.asyncDispose]());

/** Runs one operation, and gives what the adapter said to Redis so that it can be said again, word for word. */
async function record(operation: (sides: Sides) => Promise<unknown>): Promise<Again> {
  const runs: Again[] = [];
  const scripts: Scripts = {
    async run(name, run) {
      const reply = await bench.base.scripts.run(name, run);
      runs.push({ reply, again: () => bench.base.scripts.run(name, run) });
      return reply;
    },
  };
  await operation(bench.on({ ...bench.base, scripts }));
  const [run] = runs;
  if (run === undefined || runs.length !== 1) throw new Error(`Expected one script, got ${runs.length}`);
  return run;
}

interface Again {
  readonly reply: unknown;
  readonly again: () => Promise<unknown>;
}

const OPERATIONS: readonly [string, string, (sides: Sides, names: Names) => Promise<unknown>][] = [
  ["create", "no task", ({ store }, { task }) => store.create(task)],
  ["claim", "queued", ({ leases }, { ref }) => leases.claim(ref)],
  ["claim a dead lease", "leased, and the lease is over", ({ leases }, { ref }) => leases.claim(ref)],
  ["heartbeat", "leased", ({ leases }, { claim }) => leases.heartbeat(claim)],
  ["record a step", "leased", ({ leases }, { claim }) => leases.recordStep(claim, "outline", "[]")],
  ["progress", "leased", ({ leases }, { claim }) => leases.progress(claim, "half")],
  ["extend", "leased", ({ leases }, { claim }) => leases.extend(claim, 3_600_000)],
  [
    "park on input",
    "leased",
    ({ leases }, { claim }) => leases.park(claim, { requests: [ASKED], sleeps: [] }),
  ],
  [
    "park on time",
    "leased",
    ({ leases }, { claim }) =>
      leases.park(claim, { requests: [], sleeps: [{ name: "s", durationMs: 5000 }] }),
  ],
  [
    "park on what has come",
    "leased",
    ({ leases }, { claim }) => leases.park(claim, { requests: [], sleeps: [{ name: "s", durationMs: 0 }] }),
  ],
  ["release at shutdown", "leased", ({ leases }, { claim }) => leases.release(claim, { reason: "shutdown" })],
  [
    "release to retry",
    "leased",
    ({ leases }, { claim }) =>
      leases.release(claim, { reason: "retry", failed: "outline", delayMs: 0, message: "again" }),
  ],
  ["settle", "leased", ({ leases }, { claim }) => leases.settle(claim, settlementOf("completed"))],
  [
    "answer",
    "asking",
    ({ store }, { address }) => store.answer(address, [{ key: ASKED.key, response: "{}" }]),
  ],
  ["cancel", "leased", ({ store }, { address }) => store.cancel(address, "enough")],
  ["rouse a dead lease", "leased, and the lease is over", ({ due }, { ref }) => due.rouse(ref)],
  ["rouse a sleeper", "sleeping, and the time is over", ({ due }, { ref }) => due.rouse(ref)],
  ["rouse an asker", "asking, for a time that is over", ({ due }, { ref }) => due.rouse(ref)],
  ["expire", "queued, overdue", ({ due }, { ref }) => due.expire(ref)],
];

interface Names extends ReturnType<typeof namesOf> {
  readonly task: ReturnType<typeof newTask>;
  readonly claim: Claim;
}

describe("I12: a script that is sent again changes nothing and says the same", () => {
  test.each(OPERATIONS)("%s (%s)", async (_, situationName, operation) => {
    const situation = SITUATIONS.find(({ name }) => name === situationName)!;
    const task = newTask();
    const names = namesOf(task);
    const held = await situation.reach(bench, task);
    const claim = held ?? { ref: names.ref, claimId: "never-was", epoch: 0 };
    const { reply, again } = await record((sides) => operation(sides, { ...names, task, claim }));
    const after = await bench.bytesOf(names.ref);

    expect(withoutClock(await again())).toEqual(withoutClock(reply));
    expect(await bench.bytesOf(names.ref)).toEqual(after);
  });

  test("even when other operations came between", async () => {
    const task = newTask();
    const { ref, address } = namesOf(task);
    await SITUATIONS.find(({ name }) => name === "asking")!.reach(bench, task);
    const { reply, again } = await record(({ store }) =>
      store.answer(address, [{ key: ASKED.key, response: "{}" }]),
    );
    const { leases, store } = bench.with({});
    const claimed = await leases.claim(ref);
    if (claimed.verdict !== "claimed") throw new Error(claimed.verdict);
    for (let beat = 0; beat < 10; beat++) await leases.heartbeat(claimed.task.claim);
    await store.cancel(address, "enough");
    const after = await bench.bytesOf(ref);

    expect(await again()).toEqual(reply);
    expect(await bench.bytesOf(ref)).toEqual(after);
  });

  test("a claim that was had and given back is not had again", async () => {
    const task = newTask();
    const { ref } = namesOf(task);
    const { store, leases } = bench.with({});
    await store.create(task);
    let claim: Claim | undefined;
    const { again } = await record(async (sides) => {
      const reply = await sides.leases.claim(ref);
      if (reply.verdict === "claimed") claim = reply.task.claim;
    });
    await leases.release(claim!, { reason: "shutdown" });
    expect(await again()).toEqual(["held"]);
  });

  test("the memory of operations stays small, however many there were", async () => {
    const task = newTask();
    const held = await SITUATIONS.find(({ name }) => name === "leased")!.reach(bench, task);
    const { leases } = bench.with({});
    for (let round = 0; round < 100; round++) await leases.progress(held!, `round ${round}`);
    const { record } = await bench.bytesOf(namesOf(task).ref);
    expect(record["ops"]!.length).toBeLessThanOrEqual(512);
    expect(record["ver"]).toBe("101");
  });
});

describe("the loader", () => {
  test("runs a script once on a server that has never seen it, or has forgotten it", async () => {
    const { store } = bench.with({});
    const task = newTask();
    await store.create(task);
    await bench.redis.script("FLUSH");
    expect(await store.cancel(namesOf(task).address, "enough")).toEqual({ verdict: "cancelled" });
    expect((await bench.bytesOf(namesOf(task).ref)).record).toMatchObject({ ver: "2" });
    const loaded = await bench.redis.info("memory");
    expect(loaded).toContain("number_of_cached_scripts:1");
  });

  test("scripts that are sent at the same instant to such a server all run once", async () => {
    const { store } = bench.with({});
    await bench.redis.script("FLUSH");
    const tasks = Array.from({ length: 50 }, () => newTask());
    const replies = await Promise.all(tasks.map((task) => store.create(task)));
    expect(replies.map((reply) => created(reply).snapshot.ver)).toEqual(tasks.map(() => 1));
  });

  test("refuses a number that is none, and rounds a part of a millisecond up", async () => {
    const { store } = bench.with({});
    await expect(store.create(newTask({ ttlMs: Number.NaN }))).rejects.toThrow(RangeError);
    const { snapshot } = created(await store.create(newTask({ ttlMs: 1000.2 })));
    expect(snapshot.ttlMs).toBe(1001);
  });

  test("an operation id is new for each call, so that two equal calls are two", async () => {
    const task = newTask();
    const held = await SITUATIONS.find(({ name }) => name === "leased")!.reach(bench, task);
    const { leases } = bench.with({});
    await leases.progress(held!, "half");
    await leases.progress(held!, "half");
    expect((await bench.bytesOf(namesOf(task).ref)).record).toMatchObject({ ver: "3" });
  });
});

/** A claim's reply tells the time, which goes on. */
function withoutClock(reply: unknown): unknown {
  return Array.isArray(reply) && reply[0] === "claimed" ? [reply[0], ...reply.slice(2)] : reply;
}
