import type { Settlement, TaskLeases, TaskStore } from "@perdure/tasks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CALM, DELICATE_JSON, allFenced, createTaskBench } from "./task-bench.ts";
import type { MadeTask, MakeTaskPorts, TaskBench, TaskPorts } from "./task-bench.ts";

const ROUNDS = 20;

const SETTLEMENTS: readonly Settlement[] = [
  { status: "completed", result: DELICATE_JSON, statusMessage: "Done: 1.0 ☃" },
  { status: "failed", error: `{"code":-32603,"message":"no","data":${DELICATE_JSON}}`, statusMessage: "no" },
  { status: "cancelled", statusMessage: "The outline was refused" },
];

/** How a task ends, once: by its worker or by its owner. */
export function describeEnds(makePorts: MakeTaskPorts): void {
  let bench: TaskBench;
  let leases: TaskLeases;
  let store: TaskStore;
  let other: TaskPorts;
  beforeAll(async () => {
    bench = createTaskBench(await makePorts(CALM));
    ({ leases, store } = bench.ports);
    other = await makePorts(CALM);
  });
  afterAll(() => Promise.all([bench.ports.stop(), other.stop()]));

  /** I2: tries all that could touch a terminal task, and sees its bytes stay. */
  async function expectFinal(made: MadeTask): Promise<void> {
    const before = await bench.read(made);
    expect(await store.cancel(made.address, "late")).toEqual({ verdict: "terminal", status: before.status });
    expect(await store.answer(made.address, [{ key: "a", response: "1" }])).toEqual({
      verdict: "accepted",
      applied: [],
    });
    expect(await leases.claim(made.ref)).toEqual({ verdict: "terminal" });
    expect((await bench.ports.due.rouse(made.ref)).verdict).toBe("later");
    expect(await bench.ports.due.expire(made.ref)).toEqual({ verdict: "later" });
    expect(await bench.read(made)).toEqual(before);
  }

  describe("a task that its worker settles", () => {
    test.each(SETTLEMENTS)(
      "$status: its outcome is what the worker said, byte for byte, for ever",
      async (settlement) => {
        const made = await bench.createClaimed();
        await leases.progress(made.claim, "Almost there");
        const before = await bench.read(made);
        expect(await leases.settle(made.claim, settlement)).toEqual({ verdict: "done" });
        const after = await bench.read(made);
        expect(after).toMatchObject({ ...settlement, ver: before.ver + 1, createdAtMs: before.createdAtMs });
        expect("result" in after).toBe(settlement.status === "completed");
        expect("error" in after).toBe(settlement.status === "failed");
        const seen = await store.read(made.address);
        expect(await bench.tryWrites(made, made.claim)).toEqual(allFenced(seen));
        await expectFinal(made);
      },
    );

    test("a worker that writes after the end is told that the task is settled", async () => {
      const made = await bench.createClaimed();
      await leases.settle(made.claim, { status: "completed", result: "{}" });
      expect(await leases.heartbeat(made.claim)).toEqual({ verdict: "fenced", reason: "settled" });
    });

    test("I3: of many settlements at once, through two sides, one is done and its bytes are the ones that stay", async () => {
      const made = await bench.createClaimed();
      const results = Array.from({ length: 20 }, (_, i) => `{"content":[],"i":${i}}`);
      const replies = await Promise.all(
        results.map((result, i) =>
          (i % 2 === 0 ? leases : other.leases).settle(made.claim, { status: "completed", result }),
        ),
      );
      const done = replies.flatMap(({ verdict }, i) => (verdict === "done" ? [results[i]] : []));
      expect(done).toHaveLength(1);
      const after = await bench.read(made);
      expect(after).toMatchObject({ status: "completed", result: done[0], ver: made.snapshot.ver + 1 });
    });

    test("a completed task shows no request that it once asked", async () => {
      const made = await bench.createAsking(["a"]);
      await store.answer(made.address, [{ key: "a", response: "1" }]);
      const { claim } = await bench.claim(made);
      await leases.settle(claim, { status: "completed", result: "{}" });
      expect(await bench.read(made)).not.toHaveProperty("inputRequests");
      await expectFinal(made);
    });
  });

  describe("a task that its owner cancels", () => {
    const states: readonly [string, () => Promise<MadeTask>][] = [
      ["waiting for a worker", () => bench.create()],
      ["in a worker's hands", () => bench.createClaimed()],
      ["waiting for input", () => bench.createAsking(["a"])],
      [
        "asleep",
        async () => {
          const made = await bench.createClaimed();
          await leases.park(made.claim, { requests: [], sleeps: [{ name: "nap", durationMs: 1 }] });
          return made;
        },
      ],
      [
        "waiting to retry",
        async () => {
          const made = await bench.createClaimed();
          await leases.release(made.claim, { reason: "retry", failed: "", delayMs: 1, message: "busy" });
          return made;
        },
      ],
      [
        "given back by its worker",
        async () => {
          const made = await bench.createClaimed();
          await leases.release(made.claim, { reason: "shutdown" });
          return made;
        },
      ],
    ];
    test.each(states)(
      "%s: is cancelled at once, with the reason, and never starts again",
      async (_, make) => {
        const made = await make();
        const before = await bench.read(made);
        expect(await store.cancel(made.address, "I changed my mind ☃")).toEqual({ verdict: "cancelled" });
        const after = await bench.read(made);
        expect(after).toMatchObject({
          status: "cancelled",
          statusMessage: "I changed my mind ☃",
          ver: before.ver + 1,
        });
        for (const field of ["inputRequests", "result", "error"]) expect(after).not.toHaveProperty(field);
        await expectFinal(made);
      },
    );

    test("its worker learns of it by the next thing it writes, and that changes nothing", async () => {
      const made = await bench.createClaimed();
      await store.cancel(made.address, "no");
      const seen = await store.read(made.address);
      expect(await bench.tryWrites(made, made.claim)).toEqual(allFenced(seen, "cancelled"));
    });

    test("I9: cancel against settle ends in the one that was acknowledged", async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const made = await bench.createClaimed();
        const settle = (): Promise<{ verdict: string }> =>
          leases.settle(made.claim, { status: "completed", result: "{}" });
        const cancel = (): Promise<{ verdict: string }> => other.store.cancel(made.address, "no");
        const [settled, cancelled] = await raceInTurn(round, settle, cancel);
        const { status, ver } = await bench.read(made);
        expect([settled, cancelled, status, ver]).toEqual(
          settled === "done"
            ? ["done", "terminal", "completed", made.snapshot.ver + 1]
            : ["fenced", "cancelled", "cancelled", made.snapshot.ver + 1],
        );
        await expectFinal(made);
      }
    });

    test("I9: cancel against claim, answer, park and release always ends cancelled, and never starts again", async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const unclaimed = await bench.create();
        const asking = await bench.createAsking(["a"]);
        const parking = await bench.createClaimed();
        const leaving = await bench.createClaimed();
        const races: readonly [MadeTask, () => Promise<{ verdict: string }>][] = [
          [unclaimed, () => leases.claim(unclaimed.ref)],
          [asking, () => store.answer(asking.address, [{ key: "a", response: "1" }])],
          [
            parking,
            () => leases.park(parking.claim, { requests: [], sleeps: [{ name: "nap", durationMs: 1 }] }),
          ],
          [leaving, () => leases.release(leaving.claim, { reason: "shutdown" })],
        ];
        for (const [made, act] of races) {
          const cancel = (): Promise<{ verdict: string }> => other.store.cancel(made.address, "no");
          const [, cancelled] = await raceInTurn(round, act, cancel);
          expect(cancelled).toBe("cancelled");
          expect(await bench.read(made)).toMatchObject({ status: "cancelled", statusMessage: "no" });
          await expectFinal(made);
        }
      }
    });
  });
}

/** Starts both at once, in an order that changes from round to round, and gives their verdicts. */
async function raceInTurn(
  round: number,
  first: () => Promise<{ verdict: string }>,
  second: () => Promise<{ verdict: string }>,
): Promise<[string, string]> {
  if (round % 2 === 0) {
    const [a, b] = await Promise.all([first(), second()]);
    return [a.verdict, b.verdict];
  }
  const [b, a] = await Promise.all([second(), first()]);
  return [a.verdict, b.verdict];
}
