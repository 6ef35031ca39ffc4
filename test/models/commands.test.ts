import { deepStrictEqual } from "node:assert/strict";
import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBench } from "../../packages/redis/src/testing/start-bench.ts";
import type { Bench } from "../../packages/redis/src/testing/start-bench.ts";
import { anyAct } from "./any-act.ts";
import type { Act } from "./any-act.ts";
import { expectedView, toldOf } from "./expected-view.ts";
import { realTask } from "./real-task.ts";
import type { RealTask } from "./real-task.ts";
import { step } from "./task-model.ts";
import type { Held, Operation, State } from "./task-model.ts";

/*
 * Anything that two workers, a client, a stranger, the reconciler and time may do, in any order, on the real scripts and
 * on the model at once: replies and records must be the same after each of them.
 *
 *     MODEL_SEED=… MODEL_PATH=… MODEL_RUNS=… npx vitest run test/models
 *
 * Each of these was seen to turn the test red: in `fenced` no comparison of claim and epoch, or no look at `endedBy`; a
 * cancel or a claim of a task that has ended; a claim that looks at no `leaseEnd`, or counts no crash; an answer that is not
 * remembered, or set with HSET for HSETNX; an `extend` that lowers the ttl; `inputs` kept when a timer fires; a slot not
 * given back at the end; `expire` that removes at once, or too early; `create` over a tombstone; a heartbeat or a timer that
 * does not move `due`; a change without one more `ver`.
 */

const RUNS = Number(process.env["MODEL_RUNS"] ?? 300);
const SEED = Number(process.env["MODEL_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const ACTS = 60;
/** Runs go on in so many lanes at once, each with a seed of its own: SEED, SEED + 1, … */
const LANES = 10;

/** What a run must have met, so that none is green by luck. */
const MUST_MEET = Object.entries({
  create: ["created"],
  read: ["found", "unknown"],
  answer: ["accepted", "accepted, resumed", "unknown"],
  cancel: ["cancelled", "terminal", "unknown"],
  claim: ["claimed", "held", "parked", "terminal", "overdue", "unknown"],
  heartbeat: ["done", "fenced taken"],
  recordStep: ["done"],
  progress: ["done"],
  extend: ["done"],
  park: ["parked", "parked, resumed", "fenced taken"],
  shutDown: ["released, resumed"],
  retry: ["released", "released, resumed"],
  settle: ["done", "fenced taken", "fenced cancelled"],
  rouse: ["wake queued", "wake lease-ended", "wake timer", "overdue", "later", "gone"],
  expire: ["failed", "removed", "later", "gone"],
}).flatMap(([operation, outcomes]) => outcomes.map((outcome) => `${operation} ${outcome}`));
/** The same for long runs. */
const LONG_RUNS = 3000;
const MUST_MEET_AT_LENGTH = [
  "create refused",
  "read expired",
  "park conflict",
  "settle fenced expired",
  "rouse failed",
];

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench[Symbol.asyncDispose]());

/** The model's side of a run: the task, the clock, what the workers believe, and what was sent. */
interface World {
  state: State;
  now: number;
  readonly held: [Held, Held];
  readonly sent: Operation[];
}

const NOTHING: Held = { claimId: "never-was", epoch: 0 };
const met = new Map<string, number>();
let operations = 0;

class Command implements fc.AsyncCommand<World, RealTask> {
  readonly act: Act;
  constructor(act: Act) {
    this.act = act;
  }

  /** A worker that holds nothing can only claim. */
  check({ held }: Readonly<World>): boolean {
    return !("worker" in this.act) || this.act.act === "claim" || held[this.act.worker] !== NOTHING;
  }

  async run(world: World, real: RealTask): Promise<void> {
    const { act } = this;
    // Time passes with everything that is done, so that no two things are at once.
    const ticks = act.act === "pass" ? act.ticks : 1;
    world.now += ticks;
    await real.pass(ticks);
    if (act.act === "crash") world.held[act.worker] = NOTHING;
    const operation = act.act === "resend" ? world.sent.at(-1 - act.back) : operationOf(act, world);
    if (!operation) return;
    if (act.act !== "resend") world.sent.push(operation);

    const verBefore = verOf(world.state);
    const [state, said] = step(world.state, operation, world.now);
    const reply = await real.perform(operation);
    deepStrictEqual(reply, said);
    world.state = state;
    if (act.act === "claim" && said.verdict === "claimed" && operation.do === "claim")
      world.held[act.worker] = { claimId: operation.op, epoch: Number(said["epoch"]) };

    const view = await real.view();
    deepStrictEqual(toldOf(view), expectedView(state, world.now, view));
    // Between two changes readers see what they saw: the record is compared in any case.
    if (verOf(state) !== verBefore)
      deepStrictEqual(await shown(real), typeof state === "string" ? undefined : shownOf(state));
    const because = [said["reason"], said["cause"]].filter((word) => typeof word === "string");
    const outcome = [operation.do, said.verdict, ...because].join(" ");
    const resumed = said.verdict !== "wake" && said["wakeUp"] !== undefined ? ", resumed" : "";
    met.set(outcome + resumed, (met.get(outcome + resumed) ?? 0) + 1);
  }

  toString(): string {
    return JSON.stringify(this.act);
  }
}

function verOf(state: State): number {
  return typeof state === "string" ? 0 : state.ver;
}

/** What the owner reads, without times. */
async function shown(real: RealTask): Promise<unknown> {
  const snapshot = await real.snapshot();
  if (!snapshot) return undefined;
  const { status, statusMessage, ver, inputRequests, result, error } = snapshot;
  return { status, statusMessage, ver, inputRequests, result, error };
}

function shownOf({ status, message, ver, inputs, result, error }: Exclude<State, string>): unknown {
  return { status, statusMessage: message, ver, inputRequests: inputs, result, error };
}

function operationOf(act: Exclude<Act, { act: "resend" }>, { held: workers }: World): Operation | undefined {
  const op = `op${String(operations++).padStart(10, "0")}`;
  const held = "worker" in act ? workers[act.worker] : NOTHING;
  switch (act.act) {
    case "create":
      return { do: "create" };
    case "rouse":
    case "expire":
      return { do: act.act, op };
    case "read":
      return { do: "read", by: act.by };
    case "cancel":
      return { do: "cancel", by: act.by, op };
    case "answer":
      return { do: "answer", by: act.by, answers: act.answers, op };
    case "claim":
      return { do: "claim", op };
    case "beat":
      return { do: "heartbeat", held, op };
    case "progress":
      return { do: "progress", held, message: "half", op };
    case "extend":
      return { do: "extend", held, ticks: act.ticks, op };
    case "step":
      return { do: "recordStep", held, name: act.name, value: act.value };
    case "park":
      return { do: "park", held, requests: act.requests, sleeps: act.sleeps, op };
    case "shutDown":
      return { do: "shutDown", held, op };
    case "retry":
      return { do: "retry", held, failed: act.failed, ticks: act.ticks, op };
    case "settle":
      return { do: "settle", held, status: act.status, op };
    case "crash":
    case "pass":
      break;
  }
  return undefined;
}

/** `runs` runs with one seed. Nearly all begin with a task, for else little could happen. */
async function tryOut(seed: number, runs: number): Promise<void> {
  const begins = fc.integer({ min: 0, max: 9 }).map((digit) => digit > 0);
  const acts = fc.commands([anyAct.map((act) => new Command(act))], { maxCommands: ACTS, size: "max" });
  const property = fc.asyncProperty(begins, acts, (isCreated, commands) =>
    fc.asyncModelRun(async () => {
      const model: World = { state: "none", now: 0, held: [NOTHING, NOTHING], sent: [] };
      const real = realTask(bench);
      if (isCreated) await new Command({ act: "create" }).run(model, real);
      return { model, real };
    }, commands),
  );
  const path = process.env["MODEL_PATH"];
  await fc.assert(property, { numRuns: runs, seed, ...(path && { path }) });
}

test("I2, I3, I4, I12: whatever two workers, clients and time do, and whatever is sent again, the scripts do and say what the model does", async () => {
  console.log(`models: seed ${SEED}, ${RUNS} runs of up to ${ACTS} acts`);
  if (process.env["MODEL_PATH"]) return tryOut(SEED, RUNS);
  const lanes = Array.from({ length: LANES }, (_, lane) => tryOut(SEED + lane, Math.ceil(RUNS / LANES)));
  const failure = (await Promise.allSettled(lanes)).find(({ status }) => status === "rejected");
  if (failure?.status === "rejected") throw failure.reason;
  const table = [...met].sort(([a], [b]) => a.localeCompare(b));
  console.log(table.map(([outcome, times]) => `${outcome} ${times}`).join(" · "));
  const outcomes = RUNS < LONG_RUNS ? MUST_MEET : [...MUST_MEET, ...MUST_MEET_AT_LENGTH];
  expect(outcomes.filter((outcome) => !met.has(outcome))).toEqual([]);
}, 600_000);
