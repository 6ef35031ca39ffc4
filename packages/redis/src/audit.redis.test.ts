import type { NewTask } from "@perdure/tasks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadScripts } from "./scripts.ts";
import type { Scripts } from "./scripts.ts";
import { ASKED, SITUATIONS, settlementOf } from "./testing/situations.ts";
import { namesOf, newTask, startBench } from "./testing/start-bench.ts";
import type { Bench } from "./testing/start-bench.ts";

/* The audit is what the fault tests believe: it must tell every change, and change nothing itself. */

let bench: Bench;
let scripts: Scripts;
beforeAll(async () => {
  bench = await startBench();
  scripts = loadScripts(bench.base.link, { isAudited: true });
});
afterAll(() => bench[Symbol.asyncDispose]());

type Told = Readonly<Record<string, string>>;

async function toldOf(task: NewTask): Promise<readonly Told[]> {
  const entries = await bench.redis.xrange("{s00}:audit", "-", "+");
  return entries
    .map(([, flat]) =>
      Object.fromEntries(flat.flatMap((name, at) => (at % 2 ? [] : [[name, flat[at + 1] ?? ""]]))),
    )
    .filter((told) => told["task"] === task.taskId);
}

const statusOf = (state: string | undefined): unknown => (state ? JSON.parse(state)[0] : undefined);

async function live(task: NewTask) {
  const { store, leases } = bench.on({ ...bench.base, scripts });
  const { ref, address } = namesOf(task);
  await store.create(task);
  const first = await leases.claim(ref);
  if (first.verdict !== "claimed") throw new Error(first.verdict);
  await leases.recordStep(first.task.claim, "outline", "[]");
  await leases.heartbeat(first.task.claim);
  await leases.park(first.task.claim, { requests: [ASKED], sleeps: [] });
  await store.answer(address, [{ key: ASKED.key, response: "{}" }]);
  const second = await leases.claim(ref);
  if (second.verdict !== "claimed") throw new Error(second.verdict);
  await leases.settle(first.task.claim, settlementOf("failed"));
  await leases.settle(second.task.claim, settlementOf("completed"));
  await store.cancel(address, "late");
  return { first: first.task.claim, second: second.task.claim };
}

describe("an audited store", () => {
  test("tells each run of a script on the task, who ran it, and the state before and after", async () => {
    const task = newTask({ params: `{"name":"generate_report","arguments":{"long":"${"x".repeat(500)}"}}` });
    const { first, second } = await live(task);
    const told = await toldOf(task);
    expect(told.map(({ script, after }) => [script, statusOf(after)])).toEqual([
      ["create", "working"],
      ["claim", "working"],
      ["record-step", "working"],
      ["heartbeat", "working"],
      ["park", "input_required"],
      ["answer", "working"],
      ["claim", "working"],
      ["settle", undefined],
      ["settle", "completed"],
      ["cancel", undefined],
    ]);
    expect(told[2]).toMatchObject({ claim: first.claimId, epoch: "1", name: "outline", reply: '["done"]' });
    expect(told[7]).toMatchObject({ claim: first.claimId, reply: '["fenced","taken"]' });
    expect(told[8]).toMatchObject({ claim: second.claimId, epoch: "2" });
    const left = told
      .slice(1)
      .map((_, at) => told.slice(0, at + 1).findLast(({ after }) => after !== "")?.["after"]);
    expect(told.slice(1).map(({ before }) => before)).toEqual(left);
  });

  test("keeps the same bytes as one that is not audited", async () => {
    const times = /^(createdAt|updatedAt|removeAt|ops)$/;
    const kept = async (on: Scripts): Promise<unknown> => {
      const task = newTask({ owner: { tenant: "acme", principal: "alice" } });
      const { store, leases } = bench.on({ ...bench.base, scripts: on });
      await store.create(task);
      const claimed = await leases.claim(namesOf(task).ref);
      if (claimed.verdict !== "claimed") throw new Error(claimed.verdict);
      await leases.settle(claimed.task.claim, settlementOf("completed"));
      const { record } = await bench.bytesOf(namesOf(task).ref);
      return Object.fromEntries(Object.entries(record).filter(([field]) => !times.test(field)));
    };
    expect(await kept(scripts)).toEqual(await kept(bench.base.scripts));
  });

  test.each(SITUATIONS.map(({ name, reach }) => [name, reach] as const))(
    "says the same in the situation: %s",
    async (_, reach) => {
      const task = newTask();
      await reach(bench, task);
      const { ref } = namesOf(task);
      const plain = await bench.with({}).due.rouse(ref);
      const audited = await bench.on({ ...bench.base, scripts }).due.rouse(ref);
      const allowed = plain.verdict === "wake" ? ["wake", "later"] : [plain.verdict];
      expect(allowed).toContain(audited.verdict);
      expect((await toldOf(task)).map(({ script }) => script)).toEqual(["rouse"]);
    },
  );

  test("a store that is not audited writes no stream", async () => {
    await bench.redis.del("{s00}:audit");
    await bench.with({}).store.create(newTask());
    expect(await bench.redis.exists("{s00}:audit")).toBe(0);
  });
});
