import type { AnswerReply, TaskLeases, TaskStore } from "@perdure/tasks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CALM, DELICATE_JSON, DELICATE_NAMES, createTaskBench, requestOf, wakeUpOf } from "./task-bench.ts";
import type { MakeTaskPorts, TaskBench, TaskPorts } from "./task-bench.ts";

const ROUNDS = 20;
const HOUR_MS = 3_600_000;

/** Waiting for input and for time. */
export function describeParking(makePorts: MakeTaskPorts): void {
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

  describe("a task that asks", () => {
    test("shows all its requests under their keys, digit for digit, and no worker can claim it", async () => {
      const made = await bench.createAsking(["first", ...DELICATE_NAMES]);
      const asking = await bench.read(made);
      expect(asking).toMatchObject({ status: "input_required", ver: made.snapshot.ver + 1 });
      const shown = new Map(Object.entries(JSON.parse(asking.inputRequests ?? "")));
      const wanted = ["first", ...DELICATE_NAMES].map((key): [string, unknown] => [
        key,
        JSON.parse(requestOf(key).request),
      ]);
      expect(shown).toEqual(new Map(wanted));
      expect(asking.inputRequests).toContain(requestOf("first").request);
      expect(await leases.claim(made.ref)).toEqual({ verdict: "parked" });
    });

    test("ends the claim of the worker that parked it", async () => {
      const made = await bench.createAsking(["approve"]);
      expect(await leases.heartbeat(made.claim)).toMatchObject({ verdict: "fenced" });
      expect(await leases.settle(made.claim, { status: "completed", result: "{}" })).toMatchObject({
        verdict: "fenced",
      });
      expect(await bench.read(made)).toMatchObject({ status: "input_required" });
    });

    test("goes on when the last of its answers is in, and its next run reads requests and answers back", async () => {
      const made = await bench.createAsking(["a", "b"]);
      const asking = await bench.read(made);
      expect(await store.answer(made.address, [{ key: "b", response: DELICATE_JSON }])).toEqual({
        verdict: "accepted",
        applied: ["b"],
      });
      const half = await bench.read(made);
      expect(half).toMatchObject({ status: "input_required", ver: asking.ver + 1 });
      expect(Object.keys(JSON.parse(half.inputRequests ?? ""))).toEqual(["a"]);
      expect(await leases.claim(made.ref)).toEqual({ verdict: "parked" });

      const last = await store.answer(made.address, [{ key: "a", response: '{"action":"accept"}' }]);
      expect(last).toMatchObject({ verdict: "accepted", applied: ["a"], wakeUp: { ref: made.ref } });
      const resumed = await bench.read(made);
      expect(resumed).toMatchObject({ status: "working", ver: half.ver + 1 });
      expect(resumed).not.toHaveProperty("inputRequests");

      const { attempt, journal } = await bench.claim(made);
      expect(attempt).toBe(1);
      expect(journal.requests).toEqual(new Map(["a", "b"].map((key) => [key, requestOf(key).request])));
      expect(journal.answers).toEqual(
        new Map([
          ["a", '{"action":"accept"}'],
          ["b", DELICATE_JSON],
        ]),
      );
    });

    test("takes several answers in one call, under any key", async () => {
      const made = await bench.createAsking(DELICATE_NAMES);
      const answers = DELICATE_NAMES.map((key) => ({ key, response: JSON.stringify(key) }));
      const reply = await store.answer(made.address, answers);
      expect(reply).toMatchObject({ verdict: "accepted", wakeUp: { ref: made.ref } });
      expect(new Set(appliedOf(reply))).toEqual(new Set(DELICATE_NAMES));
      const { journal } = await bench.claim(made);
      expect(journal.answers).toEqual(new Map(answers.map(({ key, response }) => [key, response])));
    });

    test("each resumption asks for a new wake-up", async () => {
      const made = await bench.createAsking(["a"]);
      const reply = await store.answer(made.address, [{ key: "a", response: "1" }]);
      expect(wakeUpOf(reply).wake).toBeGreaterThan(made.wakeUp.wake);
    });

    test("I7: two partial answers at the same instant, from two sides, both count and resume it once", async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const made = await bench.createAsking(["a", "b"]);
        const asking = await bench.read(made);
        const replies = await Promise.all([
          store.answer(made.address, [{ key: "a", response: "1" }]),
          other.store.answer(made.address, [{ key: "b", response: "2" }]),
        ]);
        expect(replies.map(appliedOf)).toEqual([["a"], ["b"]]);
        expect(replies.filter((reply) => "wakeUp" in reply && reply.wakeUp)).toHaveLength(1);
        expect(await bench.read(made)).toMatchObject({ status: "working", ver: asking.ver + 2 });
        const { journal } = await bench.claim(made);
        expect(Object.fromEntries(journal.answers)).toEqual({ a: "1", b: "2" });
      }
    });

    test("I7: of two answers to one key at the same instant the first wins, and only it is said to be applied", async () => {
      for (let round = 0; round < ROUNDS; round++) {
        const made = await bench.createAsking(["a"]);
        const replies = await Promise.all([
          store.answer(made.address, [{ key: "a", response: '"left"' }]),
          other.store.answer(made.address, [{ key: "a", response: '"right"' }]),
        ]);
        const winners = replies.map((reply) => appliedOf(reply).length === 1);
        expect(winners.filter(Boolean)).toHaveLength(1);
        const { journal } = await bench.claim(made);
        expect(journal.answers.get("a")).toBe(winners[0] === true ? '"left"' : '"right"');
      }
    });

    test("an acknowledged answer is never replaced", async () => {
      const made = await bench.createAsking(["a", "b"]);
      const twice = [
        { key: "a", response: "1" },
        { key: "a", response: "2" },
      ];
      expect(await store.answer(made.address, twice)).toEqual({ verdict: "accepted", applied: ["a"] });
      const before = await bench.read(made);
      expect(await store.answer(made.address, [{ key: "a", response: "3" }])).toEqual({
        verdict: "accepted",
        applied: [],
      });
      expect(await bench.read(made)).toEqual(before);
      await store.answer(made.address, [{ key: "b", response: "4" }]);
      expect(await store.answer(made.address, [{ key: "a", response: "5" }])).toEqual({
        verdict: "accepted",
        applied: [],
      });
      const { journal } = await bench.claim(made);
      expect(Object.fromEntries(journal.answers)).toEqual({ a: "1", b: "4" });
    });

    test("keys that were never asked are ignored, and no answers at all are as good", async () => {
      const made = await bench.createAsking(["a"]);
      const before = await bench.read(made);
      const strange = DELICATE_NAMES.map((key) => ({ key, response: "1" }));
      for (const answers of [strange, []])
        expect(await store.answer(made.address, answers)).toEqual({ verdict: "accepted", applied: [] });
      expect(await bench.read(made)).toEqual(before);
      const mixed = await store.answer(made.address, [...strange, { key: "a", response: "2" }]);
      expect(appliedOf(mixed)).toEqual(["a"]);
      const { journal } = await bench.claim(made);
      expect(Object.fromEntries(journal.answers)).toEqual({ a: "2" });
    });

    test("a task that has asked nothing takes no answer", async () => {
      const made = await bench.create();
      expect(await store.answer(made.address, [{ key: "a", response: "1" }])).toEqual({
        verdict: "accepted",
        applied: [],
      });
      expect(await bench.read(made)).toEqual(made.snapshot);
    });

    test("may ask again under a new key, and is not asked for what it knows", async () => {
      const made = await bench.createAsking(["a"]);
      await store.answer(made.address, [{ key: "a", response: "1" }]);
      const second = await bench.claim(made);
      const parked = await leases.park(second.claim, { requests: [requestOf("b")], sleeps: [] });
      expect(parked).toEqual({ verdict: "parked" });
      const asking = await bench.read(made);
      expect(Object.keys(JSON.parse(asking.inputRequests ?? ""))).toEqual(["b"]);
      await store.answer(made.address, [{ key: "b", response: "2" }]);
      const { journal } = await bench.claim(made);
      expect(Object.fromEntries(journal.answers)).toEqual({ a: "1", b: "2" });
    });

    test("a task that parks on what has been answered already goes on at once", async () => {
      const made = await bench.createAsking(["a"]);
      await store.answer(made.address, [{ key: "a", response: "1" }]);
      const second = await bench.claim(made);
      const parked = await leases.park(second.claim, { requests: [requestOf("a")], sleeps: [] });
      expect(parked).toMatchObject({ verdict: "parked", wakeUp: { ref: made.ref } });
      expect(await bench.read(made)).toMatchObject({ status: "working" });
      await bench.claim(made);
    });

    test("I6: the same key with another request is a conflict that changes nothing and leaves the worker its claim", async () => {
      const made = await bench.createAsking(["a"]);
      await store.answer(made.address, [{ key: "a", response: "1" }]);
      const { claim } = await bench.claim(made);
      const before = await bench.read(made);
      const requests = [requestOf("new"), { key: "a", request: '{"method":"elicitation/create"}' }];
      const parking = { requests, sleeps: [{ name: "nap", durationMs: 1 }] };
      expect(await leases.park(claim, parking)).toEqual({ verdict: "conflict", key: "a" });
      expect(await bench.read(made)).toEqual(before);
      expect(await leases.heartbeat(claim)).toEqual({ verdict: "done" });
      await leases.release(claim, { reason: "shutdown" });
      const { journal } = await bench.claim(made);
      expect([...journal.requests.keys()]).toEqual(["a"]);
      expect(journal.sleeps.size).toBe(0);
    });
  });

  describe("a task that sleeps", () => {
    test("keeps its status, cannot be claimed, and is left alone until its time", async () => {
      const made = await bench.createClaimed();
      const nap = { name: "nap", durationMs: HOUR_MS };
      expect(await leases.park(made.claim, { requests: [], sleeps: [nap] })).toEqual({ verdict: "parked" });
      expect(await bench.read(made)).toMatchObject({ status: "working" });
      expect(await leases.claim(made.ref)).toEqual({ verdict: "parked" });
      expect(await bench.ports.due.rouse(made.ref)).toEqual({ verdict: "later" });
      expect(await leases.claim(made.ref)).toEqual({ verdict: "parked" });
    });

    test("is woken by the first of its sleeps to end, and its next run reads when each ends", async () => {
      const made = await bench.create();
      const first = await bench.claim(made);
      const sleeps = [
        { name: "long", durationMs: HOUR_MS },
        { name: "__proto__", durationMs: 150 },
      ];
      expect(await leases.park(first.claim, { requests: [], sleeps })).toEqual({ verdict: "parked" });
      const roused = await bench.rouseWhenDue(made);
      expect(roused).toMatchObject({ verdict: "wake", cause: "timer", wakeUp: { ref: made.ref } });
      expect(wakeUpOf(roused).wake).toBeGreaterThan(made.wakeUp.wake);
      const { attempt, journal, nowMs } = await bench.claim(made);
      expect(attempt).toBe(1);
      const [short = 0, long = 0] = ["__proto__", "long"].map((name) => journal.sleeps.get(name));
      expect(journal.sleeps.size).toBe(2);
      expect(short).toBeGreaterThanOrEqual(first.nowMs + 150);
      expect(short).toBeLessThanOrEqual(nowMs);
      expect(long - short).toBe(HOUR_MS - 150);
    });

    test("a sleep that began in an earlier run keeps its end, whatever length a later run names", async () => {
      const made = await bench.createClaimed();
      await leases.park(made.claim, { requests: [], sleeps: [{ name: "nap", durationMs: 50 }] });
      await bench.rouseWhenDue(made);
      const second = await bench.claim(made);
      const again = { requests: [], sleeps: [{ name: "nap", durationMs: HOUR_MS }] };
      const parked = await leases.park(second.claim, again);
      expect(parked).toMatchObject({ verdict: "parked", wakeUp: { ref: made.ref } });
      const third = await bench.claim(made);
      expect(third.journal.sleeps).toEqual(second.journal.sleeps);
    });

    test("a tool that retries later rests until then, and is woken by time", async () => {
      const made = await bench.createClaimed();
      const retry = { reason: "retry", failed: "", delayMs: 150, message: "busy" } as const;
      expect(await leases.release(made.claim, retry)).toEqual({ verdict: "released" });
      expect(await bench.read(made)).toMatchObject({ status: "working" });
      expect(await leases.claim(made.ref)).not.toMatchObject({ verdict: "claimed" });
      expect(await bench.rouseWhenDue(made)).toMatchObject({ verdict: "wake", cause: "timer" });
      expect((await bench.claim(made)).attempt).toBe(2);
    });
  });

  describe("a task that waits for an answer, but only so long", () => {
    const parking = { requests: [requestOf("a")], sleeps: [{ name: "patience", durationMs: 100 }] };

    test("goes on with the answer before its time, and is not woken a second time by it", async () => {
      const made = await bench.createClaimed();
      const patient = { ...parking, sleeps: [{ name: "patience", durationMs: HOUR_MS }] };
      expect(await leases.park(made.claim, patient)).toEqual({ verdict: "parked" });
      expect(await bench.read(made)).toMatchObject({ status: "input_required" });
      const reply = await store.answer(made.address, [{ key: "a", response: "1" }]);
      expect(reply).toMatchObject({ applied: ["a"], wakeUp: { ref: made.ref } });
      const { journal } = await bench.claim(made);
      expect(journal.answers.get("a")).toBe("1");
      expect(journal.sleeps.has("patience")).toBe(true);
    });

    test("goes on at once when its answer came before it could wait", async () => {
      const made = await bench.createAsking(["a"]);
      await store.answer(made.address, [{ key: "a", response: "1" }]);
      const second = await bench.claim(made);
      const patient = { ...parking, sleeps: [{ name: "patience", durationMs: HOUR_MS }] };
      const parked = await leases.park(second.claim, patient);
      expect(parked).toMatchObject({ verdict: "parked", wakeUp: { ref: made.ref } });
      expect(await bench.read(made)).toMatchObject({ status: "working" });
      await bench.claim(made);
    });

    test("goes on without one when its time has come, and an answer after that still counts", async () => {
      const made = await bench.createClaimed();
      await leases.park(made.claim, parking);
      expect(await bench.read(made)).toMatchObject({ status: "input_required" });
      expect(await bench.rouseWhenDue(made)).toMatchObject({ verdict: "wake", cause: "timer" });
      const fired = await bench.read(made);
      expect(fired.status).toBe("working");
      expect(fired).not.toHaveProperty("inputRequests");
      const late = await store.answer(made.address, [{ key: "a", response: "1" }]);
      expect(appliedOf(late)).toEqual(["a"]);
      const { journal } = await bench.claim(made);
      expect(journal.answers.get("a")).toBe("1");
    });

    test("an answer that comes while a worker runs without it wakes the task when that worker parks", async () => {
      const made = await bench.createClaimed();
      await leases.park(made.claim, parking);
      await bench.rouseWhenDue(made);
      const running = await bench.claim(made);
      expect(running.journal.answers.size).toBe(0);
      const late = await store.answer(made.address, [{ key: "a", response: "1" }]);
      expect(late).toEqual({ verdict: "accepted", applied: ["a"] });
      const again = await leases.park(running.claim, { requests: [requestOf("a")], sleeps: [] });
      expect(again).toMatchObject({ verdict: "parked", wakeUp: { ref: made.ref } });
      expect(await bench.read(made)).toMatchObject({ status: "working" });
      const { journal } = await bench.claim(made);
      expect(journal.answers.get("a")).toBe("1");
    });
  });
}

function appliedOf(reply: AnswerReply): readonly string[] {
  if (reply.verdict !== "accepted") throw new Error(`Expected "accepted", got "${reply.verdict}"`);
  return reply.applied;
}
