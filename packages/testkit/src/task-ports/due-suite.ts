import { reconcile } from "@perdure/tasks";
import type { DueTasks, ReconcileAction, TaskLeases, TaskStore } from "@perdure/tasks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../until.ts";
import { CALM, allFenced, createTaskBench, requestOf, wakeUpOf } from "./task-bench.ts";
import type { MadeTask, MakeTaskPorts, TaskBench, TaskPorts } from "./task-bench.ts";

const LEASE_MS = 300;
const REWAKE_MS = 200;
const TTL_MS = 250;
const MAX_CRASHES = 2;

/** What a reconciler finds: lost wake-ups, dead workers, and tasks whose time is over. */
export function describeDueTasks(makePorts: MakeTaskPorts): void {
  describe("what is due", () => {
    let bench: TaskBench;
    let leases: TaskLeases;
    let due: DueTasks;
    let other: TaskPorts;
    const options = { ...CALM, leaseMs: LEASE_MS, rewakeMs: REWAKE_MS, maxCrashes: MAX_CRASHES };
    beforeAll(async () => {
      bench = createTaskBench(await makePorts(options));
      ({ leases, due } = bench.ports);
      other = await makePorts(options);
    });
    afterAll(() => Promise.all([bench.ports.stop(), other.stop()]));

    test("a task whose wake-up was lost is due, and the same wake-up is sent again", async () => {
      const made = await bench.create();
      for (let round = 0; round < 2; round++)
        expect(await bench.rouseWhenDue(made)).toEqual({
          verdict: "wake",
          wakeUp: made.wakeUp,
          cause: "queued",
        });
      expect(await bench.read(made)).toEqual(made.snapshot);
      await bench.claim(made);
    });

    test("a task that was resumed by an answer is due like a new one", async () => {
      const made = await bench.createAsking(["a"]);
      const reply = await bench.ports.store.answer(made.address, [{ key: "a", response: "1" }]);
      expect(await bench.rouseWhenDue(made)).toEqual({
        verdict: "wake",
        wakeUp: wakeUpOf(reply),
        cause: "queued",
      });
    });

    test("a dead worker's task is due when its lease has ended, is woken anew, and its attempt is not counted", async () => {
      const made = await bench.createClaimed();
      await leases.recordStep(made.claim, "outline", "1");
      const roused = await bench.rouseWhenDue(made);
      expect(roused).toMatchObject({ verdict: "wake", cause: "lease-ended", wakeUp: { ref: made.ref } });
      expect(wakeUpOf(roused).wake).toBeGreaterThan(made.wakeUp.wake);
      const seen = await bench.ports.store.read(made.address);
      expect(await bench.tryWrites(made, made.claim)).toEqual(allFenced(seen));
      const { attempt, journal, claim } = await bench.claim(made);
      expect(attempt).toBe(1);
      expect(claim.epoch).toBeGreaterThan(made.claim.epoch);
      expect([...journal.steps]).toEqual([["outline", "1"]]);
    });

    test("a task is left alone while its lease holds", async () => {
      const made = await bench.createClaimed();
      const rousedAt = performance.now();
      await until(
        async () => {
          const [beat, roused] = await Promise.all([leases.heartbeat(made.claim), due.rouse(made.ref)]);
          expect([beat.verdict, roused.verdict]).toEqual(["done", "later"]);
          return performance.now() - rousedAt > LEASE_MS / 2;
        },
        { what: "half a lease to pass" },
      );
      expect(await due.expire(made.ref)).toEqual({ verdict: "later" });
      expect(await leases.heartbeat(made.claim)).toEqual({ verdict: "done" });
    });

    test("a parked task is left alone", async () => {
      const made = await bench.createAsking(["a"]);
      expect(await due.rouse(made.ref)).toEqual({ verdict: "later" });
      expect(await due.expire(made.ref)).toEqual({ verdict: "later" });
      expect(await bench.read(made)).toMatchObject({ status: "input_required" });
    });

    test("a task that kills every worker fails in the end, with a message that says so", async () => {
      const made = await bench.create();
      let deaths = 0;
      const last = await until(
        async () => {
          await bench.claim(made);
          deaths += 1;
          const roused = await bench.rouseWhenDue(made);
          return roused.verdict === "wake" ? undefined : roused;
        },
        { what: "the task to fail", timeoutMs: 20_000 },
      );
      expect(last).toEqual({ verdict: "failed" });
      expect(deaths).toBeGreaterThanOrEqual(MAX_CRASHES);
      expect(deaths).toBeLessThanOrEqual(MAX_CRASHES + 1);
      const failed = await bench.read(made);
      expect(failed.status).toBe("failed");
      expect(JSON.parse(failed.error ?? "")).toMatchObject({
        code: expect.any(Number),
        message: expect.any(String),
      });
      expect(await leases.claim(made.ref)).toEqual({ verdict: "terminal" });
    });

    test("a worker that gives back, parks or is asked to retry has not died", async () => {
      const made = await bench.create();
      for (let round = 0; round <= MAX_CRASHES; round++) {
        const first = await bench.claim(made);
        await leases.release(first.claim, { reason: "shutdown" });
        const second = await bench.claim(made);
        const requests = [requestOf(`a${round}`)];
        await leases.park(second.claim, { requests, sleeps: [] });
        await bench.ports.store.answer(made.address, [{ key: `a${round}`, response: "1" }]);
        const third = await bench.claim(made);
        await leases.release(third.claim, { reason: "retry", failed: "", delayMs: 0, message: "busy" });
      }
      const { claim } = await bench.claim(made);
      expect(await leases.settle(claim, { status: "completed", result: "{}" })).toEqual({ verdict: "done" });
    });

    test("each due task is given to one of those who take at once, and never more than the limit", async () => {
      const made = await Promise.all(Array.from({ length: 30 }, () => bench.create()));
      const wanted = new Set(made.map(({ ref }) => ref.taskId));
      await until(
        async () => {
          const takers = [due, other.due, due, other.due];
          const taken = await Promise.all(takers.map((taker) => taker.take(7)));
          for (const refs of taken) expect(refs.length).toBeLessThanOrEqual(7);
          const ids = taken.flat().map(({ taskId }) => taskId);
          expect(new Set(ids).size).toBe(ids.length);
          for (const id of ids) wanted.delete(id);
          return wanted.size === 0;
        },
        { what: "all of them to be taken" },
      );
    });

    test("a due task whose taker dies before it looks is given to another after a moment", async () => {
      const made = await bench.create();
      await bench.takeDue(made);
      await until(async () => (await other.due.take(100)).some(({ taskId }) => taskId === made.ref.taskId), {
        what: "the task to be due again",
      });
      expect(await other.due.rouse(made.ref)).toMatchObject({ verdict: "wake", wakeUp: made.wakeUp });
    });

    test("a due task names its tenant, so that it can be roused", async () => {
      const made = await bench.create();
      await until(async () => (await due.take(100)).find(({ taskId }) => taskId === made.ref.taskId), {
        what: "the task to be due",
      }).then((ref) => expect(ref).toEqual(made.ref));
    });
  });

  describe("a task whose time is over", () => {
    let bench: TaskBench;
    let leases: TaskLeases;
    let store: TaskStore;
    let due: DueTasks;
    const options = { ...CALM, retentionMs: 500, tombstoneMs: 1_000 };
    beforeAll(async () => {
      bench = createTaskBench(await makePorts(options));
      ({ leases, store, due } = bench.ports);
    });
    afterAll(() => bench.ports.stop());

    const expired = { status: "failed", statusMessage: "Task has expired" };

    async function untilFailed(made: MadeTask): Promise<void> {
      expect(await bench.rouseWhenDue(made)).toEqual({ verdict: "overdue" });
      expect(await due.expire(made.ref)).toEqual({ verdict: "failed" });
    }

    async function untilRemoved(made: MadeTask): Promise<void> {
      await until(async () => (await due.expire(made.ref)).verdict === "removed", {
        what: "the task to be removed",
      });
    }

    test("I10: fails first, is removed after readers could see that, and then only its owner learns that it was", async () => {
      const made = await bench.create({ ttlMs: TTL_MS });
      await untilFailed(made);
      const failed = await bench.read(made);
      expect(failed).toMatchObject({ ...expired, ver: made.snapshot.ver + 1, ttlMs: TTL_MS });
      expect(JSON.parse(failed.error ?? "")).toEqual({ code: -32603, message: "Task has expired" });
      expect(failed.lastUpdatedAtMs).toBeGreaterThanOrEqual(made.snapshot.createdAtMs + TTL_MS);
      expect(await due.expire(made.ref)).toEqual({ verdict: "later" });

      await untilRemoved(made);
      for (const reply of [
        await store.read(made.address),
        await store.answer(made.address, [{ key: "a", response: "1" }]),
        await store.cancel(made.address, "late"),
      ])
        expect(reply).toEqual({ verdict: "expired" });
      const { owner } = made.address;
      for (const stranger of [
        { ...owner, principal: "mallory" },
        { ...owner, tenant: "another" },
      ]) {
        const address = { ...made.address, owner: stranger };
        expect(await store.read(address)).toEqual({ verdict: "unknown" });
        expect(await store.answer(address, [])).toEqual({ verdict: "unknown" });
        expect(await store.cancel(address, "late")).toEqual({ verdict: "unknown" });
      }
      expect(await leases.claim(made.ref)).toEqual({ verdict: "unknown" });
      expect(await due.rouse(made.ref)).toEqual({ verdict: "gone" });
      expect(await due.expire(made.ref)).toEqual({ verdict: "gone" });

      await until(async () => (await store.read(made.address)).verdict === "unknown", {
        what: "the tombstone to go",
      });
    });

    test("is not started any more, even before a reconciler has seen it", async () => {
      const made = await bench.create({ ttlMs: 50 });
      await until(
        async () => {
          const reply = await leases.claim(made.ref);
          if (reply.verdict === "claimed") await leases.release(reply.task.claim, { reason: "shutdown" });
          return reply.verdict === "overdue";
        },
        { what: "the task to be overdue" },
      );
      await untilFailed(made);
      expect(await leases.claim(made.ref)).toEqual({ verdict: "terminal" });
    });

    test("I10: whatever its worker still writes changes nothing and brings nothing back", async () => {
      const made = await bench.createClaimed({ ttlMs: TTL_MS });
      await untilFailed(made);
      const failed = await store.read(made.address);
      expect(await bench.tryWrites(made, made.claim)).toEqual(allFenced(failed, "expired"));
      await untilRemoved(made);
      expect(await bench.tryWrites(made, made.claim)).toEqual(allFenced({ verdict: "expired" }));
    });

    test.each<[string, () => Promise<MadeTask>]>([
      ["asleep", () => parkedFor({ requests: [], sleeps: [{ name: "nap", durationMs: 3_600_000 }] })],
      ["waiting for input", () => parkedFor({ requests: [requestOf("a")], sleeps: [] })],
    ])("%s: fails like any other, and shows no request", async (_, make) => {
      const made = await make();
      await untilFailed(made);
      const failed = await bench.read(made);
      expect(failed).toMatchObject(expired);
      expect(failed).not.toHaveProperty("inputRequests");
    });

    async function parkedFor(parking: Parameters<TaskLeases["park"]>[1]): Promise<MadeTask> {
      const made = await bench.createClaimed({ ttlMs: TTL_MS });
      expect(await leases.park(made.claim, parking)).toEqual({ verdict: "parked" });
      return made;
    }

    test("lives on when its worker has asked for more time", async () => {
      const made = await bench.createClaimed({ ttlMs: 5_000 });
      await leases.extend(made.claim, 60_000);
      const { ttlMs } = await bench.read(made);
      expect(ttlMs).toBeGreaterThanOrEqual(60_000);
      expect(await due.expire(made.ref)).toEqual({ verdict: "later" });
    });

    test.each(["completed", "cancelled"])(
      "%s before: keeps its bytes until it is removed",
      async (status) => {
        const made = await bench.createClaimed({ ttlMs: TTL_MS });
        if (status === "completed") await leases.settle(made.claim, { status: "completed", result: "{}" });
        else await store.cancel(made.address, "no");
        const seen = [await bench.read(made)];
        const last = await until(
          async () => {
            const { verdict } = await due.expire(made.ref);
            expect(["later", "removed"]).toContain(verdict);
            const reply = await store.read(made.address);
            if (reply.verdict !== "found") return reply;
            seen.push(reply.snapshot);
            return undefined;
          },
          { what: "the task to be removed" },
        );
        expect(last).toEqual({ verdict: "expired" });
        expect(new Set(seen.map((snapshot) => JSON.stringify(snapshot))).size).toBe(1);
      },
    );

    test("I9: cancel against expiry ends in one of the two, and both agree which", async () => {
      for (let round = 0; round < 10; round++) {
        const made = await bench.create({ ttlMs: 1 });
        await until(async () => (await leases.claim(made.ref)).verdict === "overdue", {
          what: "the task to be overdue",
        });
        const [cancelled, failed] = await Promise.all([
          store.cancel(made.address, "no"),
          due.expire(made.ref),
        ]);
        const { status, ver } = await bench.read(made);
        expect([cancelled.verdict, failed.verdict, status, ver]).toEqual(
          status === "cancelled"
            ? ["cancelled", "later", "cancelled", made.snapshot.ver + 1]
            : ["terminal", "failed", "failed", made.snapshot.ver + 1],
        );
      }
    });

    test("passes through the reconciler alone from overdue to removed", async () => {
      const made = await bench.create({ ttlMs: TTL_MS });
      const actions: ReconcileAction[] = [];
      const statuses = new Set<string>();
      await until(
        async () => {
          await reconcile({
            due,
            wakeUps: { send: () => Promise.resolve() },
            limit: 100,
            onAction: (ref, action) => {
              if (ref.taskId === made.ref.taskId && action !== "nothing") actions.push(action);
            },
          });
          const reply = await store.read(made.address);
          statuses.add(reply.verdict === "found" ? reply.snapshot.status : reply.verdict);
          return reply.verdict === "expired";
        },
        { what: "the task to be removed" },
      );
      expect(actions.filter((action) => action !== "requeued")).toEqual(["failed", "removed"]);
      expect([...statuses]).toEqual(["working", "failed", "expired"]);
    });
  });
}
