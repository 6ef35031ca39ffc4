import type { TaskLeases, TaskStore } from "@perdure/tasks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../until.ts";
import {
  CALM,
  DELICATE_JSON,
  DELICATE_NAMES,
  WORKER_WRITES,
  allFenced,
  createTaskBench,
  wakeUpOf,
} from "./task-bench.ts";
import type { MakeTaskPorts, TaskBench, TaskPorts } from "./task-bench.ts";

const LEASE_MS = 300;
/** Long enough that a busy machine does not miss it between two heartbeats. */
const KEPT_LEASE_MS = 1_000;

/** One worker at a time, by a lease that ends; and what a worker writes under it. */
export function describeLeases(makePorts: MakeTaskPorts): void {
  describe("a lease", () => {
    let bench: TaskBench;
    let leases: TaskLeases;
    let store: TaskStore;
    let other: TaskPorts;
    beforeAll(async () => {
      bench = createTaskBench(await makePorts({ ...CALM, leaseMs: LEASE_MS }));
      ({ leases, store } = bench.ports);
      other = await makePorts({ ...CALM, leaseMs: LEASE_MS });
    });
    afterAll(() => Promise.all([bench.ports.stop(), other.stop()]));

    test("a first claim finds an empty journal, the first attempt, and when the task expires", async () => {
      const made = await bench.create({ ttlMs: 90_000 });
      const { claim, attempt, journal, nowMs, expiresAtMs } = await bench.claim(made);
      expect(claim.ref).toEqual(made.ref);
      expect(attempt).toBe(1);
      for (const part of ["steps", "requests", "answers", "sleeps", "failures"] as const)
        expect(journal[part].size).toBe(0);
      expect(nowMs).toBeGreaterThanOrEqual(made.snapshot.createdAtMs);
      expect(expiresAtMs).toBe(made.snapshot.createdAtMs + 90_000);
    });

    test("of many workers that claim at once, through two sides, one gets the task and the others see it held", async () => {
      const made = await bench.create();
      const sides = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? leases : other.leases));
      const replies = await Promise.all(sides.map((side) => side.claim(made.ref)));
      const verdicts = replies.map(({ verdict }) => verdict);
      expect(replies.filter((reply) => reply.verdict === "claimed" && !reply.tookOver)).toHaveLength(1);
      expect(verdicts.filter((verdict) => verdict === "held")).toHaveLength(19);
    });

    test("once a lease has ended another worker may claim, and not before", async () => {
      const made = await bench.create();
      const askedAt = performance.now();
      const first = await bench.claim(made);
      const second = await bench.takeOver(made);
      // 2 ms: the clocks of two processes are read in whole milliseconds.
      expect(performance.now() - askedAt).toBeGreaterThanOrEqual(LEASE_MS - 2);
      expect(second.claim.epoch).toBe(first.claim.epoch + 1);
      expect(second.claim.claimId).not.toBe(first.claim.claimId);
      expect(second.attempt).toBe(1);
    });

    test("I3: whatever a worker writes with a stale claim changes nothing", async () => {
      const made = await bench.createClaimed();
      await leases.recordStep(made.claim, "kept", "1");
      await bench.takeOver(made);
      const before = await store.read(made.address);
      expect(await bench.tryWrites(made, made.claim)).toEqual(allFenced(before, "taken"));
      const third = await bench.takeOver(made);
      expect([...third.journal.steps]).toEqual([["kept", "1"]]);
      for (const part of ["requests", "answers", "sleeps", "failures"] as const)
        expect(third.journal[part].size).toBe(0);
      expect(third.attempt).toBe(1);
      expect(third.expiresAtMs).toBe(made.snapshot.createdAtMs + made.task.ttlMs);
      expect(await leases.settle(third.claim, { status: "completed", result: "{}" })).toEqual({
        verdict: "done",
      });
    });

    test.each(WORKER_WRITES)(
      "a claim id or an epoch of one's own making is no claim: %s",
      async (_, write) => {
        const made = await bench.create();
        const { claim } = await bench.claim(made);
        const before = await bench.read(made);
        for (const forged of [
          { ...claim, claimId: "AAAAAAAAAAAA" },
          { ...claim, epoch: claim.epoch + 1 },
          { ...claim, epoch: claim.epoch - 1 },
        ])
          expect(await write(leases, forged)).toMatchObject({ verdict: "fenced" });
        expect(await bench.read(made)).toEqual(before);
      },
    );

    test.each(WORKER_WRITES)("a claim on a task that is not there is gone: %s", async (_, write) => {
      const made = await bench.createClaimed();
      const nowhere = { ...made.claim, ref: { ...made.ref, taskId: "AAAAAAAAAAAAAAAAAAAAAAAA" } };
      expect(await write(leases, nowhere)).toEqual({ verdict: "fenced", reason: "gone" });
    });
  });

  describe("a worker under its lease", () => {
    let bench: TaskBench;
    let leases: TaskLeases;
    beforeAll(async () => {
      bench = createTaskBench(await makePorts({ ...CALM, leaseMs: KEPT_LEASE_MS }));
      ({ leases } = bench.ports);
    });
    afterAll(() => bench.ports.stop());

    test("heartbeats hold a task for much longer than a lease, and no reader notices", async () => {
      const made = await bench.createClaimed();
      const before = await bench.read(made);
      const askedAt = performance.now();
      await until(
        async () => {
          const [beat, claim] = await Promise.all([leases.heartbeat(made.claim), leases.claim(made.ref)]);
          expect([beat.verdict, claim.verdict]).toEqual(["done", "held"]);
          return performance.now() - askedAt > 2.5 * KEPT_LEASE_MS;
        },
        { what: "two and a half leases to pass" },
      );
      expect(await bench.read(made)).toEqual(before);
      await bench.takeOver(made);
    });

    test("the first record of a step wins, and the next worker reads it byte for byte", async () => {
      const made = await bench.createClaimed();
      const before = await bench.read(made);
      expect(await leases.recordStep(made.claim, "outline", DELICATE_JSON)).toEqual({ verdict: "done" });
      expect(await leases.recordStep(made.claim, "outline", '"second"')).toEqual({ verdict: "done" });
      const records = DELICATE_NAMES.map((name): [string, string] => [name, JSON.stringify(name)]);
      for (const [name, value] of records) await leases.recordStep(made.claim, name, value);
      expect(await bench.read(made)).toEqual(before);
      const { journal } = await bench.takeOver(made);
      expect(journal.steps).toEqual(new Map([["outline", DELICATE_JSON], ...records]));
    });

    test("progress is what readers see as the status message", async () => {
      const made = await bench.createClaimed();
      const message = 'Page 3 of 7: "naïve ☃"\n|done|';
      expect(await leases.progress(made.claim, message)).toEqual({ verdict: "done" });
      const after = await bench.read(made);
      expect(after).toMatchObject({ status: "working", statusMessage: message, ver: made.snapshot.ver + 1 });
    });

    test("extend leaves at least the time that was asked for, and never lowers what there was", async () => {
      const made = await bench.createClaimed({ ttlMs: 60_000 });
      const { createdAtMs } = made.snapshot;
      expect(await leases.extend(made.claim, 3_600_000)).toEqual({ verdict: "done" });
      const raised = await bench.read(made);
      expect(raised.createdAtMs).toBe(createdAtMs);
      expect(raised.ttlMs).toBeGreaterThanOrEqual(3_600_000);
      expect(raised.ttlMs).toBeLessThan(3_630_000);
      expect(raised.ver).toBe(made.snapshot.ver + 1);

      expect(await leases.extend(made.claim, 1_000)).toEqual({ verdict: "done" });
      expect(await bench.read(made)).toEqual(raised);
      const { expiresAtMs } = await bench.takeOver(made);
      expect(expiresAtMs).toBe(createdAtMs + raised.ttlMs);
    });

    test("a worker that shuts down gives the task back at once, and no attempt is counted", async () => {
      const made = await bench.createClaimed();
      await leases.recordStep(made.claim, "outline", "1");
      const before = await bench.read(made);
      const released = await leases.release(made.claim, { reason: "shutdown" });
      expect(released).toMatchObject({ verdict: "released", wakeUp: { ref: made.ref } });
      expect(await bench.read(made)).toEqual(before);
      expect(await leases.heartbeat(made.claim)).toMatchObject({ verdict: "fenced" });
      const next = await bench.claim(made);
      expect(next).toMatchObject({ attempt: 1 });
      expect([...next.journal.steps]).toEqual([["outline", "1"]]);
      expect(next.claim.epoch).toBeGreaterThan(made.claim.epoch);
    });

    test("each release asks for a new wake-up, so that none is taken for an older one", async () => {
      const made = await bench.create();
      const wakes = [`${made.wakeUp.wake}-${made.wakeUp.epoch}`];
      for (let round = 0; round < 3; round++) {
        const { claim } = await bench.claim(made);
        const { wake, epoch } = wakeUpOf(await leases.release(claim, { reason: "shutdown" }));
        wakes.push(`${wake}-${epoch}`);
      }
      expect(new Set(wakes).size).toBe(wakes.length);
    });

    test("a failure of the tool is counted by its name, and the next attempt may begin at once", async () => {
      const made = await bench.createClaimed();
      const retry = { reason: "retry", delayMs: 0, message: "The printer is out of paper" } as const;
      const first = await leases.release(made.claim, { ...retry, failed: "" });
      expect(first).toMatchObject({ verdict: "released", wakeUp: { ref: made.ref } });
      const second = await bench.claim(made);
      expect(second.attempt).toBe(2);
      expect(second.journal.failures).toEqual(new Map([["", 1]]));
      await leases.release(second.claim, { ...retry, failed: "print" });
      const third = await bench.claim(made);
      await leases.release(third.claim, { ...retry, failed: "print" });
      const fourth = await bench.claim(made);
      expect(fourth.journal.failures).toEqual(
        new Map([
          ["", 1],
          ["print", 2],
        ]),
      );
    });
  });
}
