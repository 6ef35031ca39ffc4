import { MOVES, isLegal } from "@perdure/tasks";
import type { Claim, MoveName, NewTask } from "@perdure/tasks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ASKED, SITUATIONS, UNTRIED_STATUSES, settlementOf } from "./testing/situations.ts";
import type { Situation } from "./testing/situations.ts";
import { namesOf, newTask, startBench } from "./testing/start-bench.ts";
import type { Bench, Sides } from "./testing/start-bench.ts";

/*
 * The matrix of the table of moves: every situation of a task, times every operation on it. What the table allows happens;
 * everything else changes no byte of the record, and nothing about its being due.
 */

interface Operation {
  readonly name: string;
  /** The move in the table that it makes; none when the status stays. */
  readonly move?: MoveName;
  /** True when it must change the record. */
  readonly isLegal: (situation: Situation) => boolean;
  readonly run: (sides: Sides, names: Names) => Promise<unknown>;
}

interface Names extends ReturnType<typeof namesOf> {
  readonly task: NewTask;
  /** The last claim of the task, or one that never was. */
  readonly claim: Claim;
}

const allows = (move: MoveName) => (situation: Situation) =>
  situation.status !== undefined && isLegal(move, situation.status);
const isHeld = ({ lease }: Situation): boolean => lease !== undefined;
const isAsking = allows("resume");

const OPERATIONS: readonly Operation[] = [
  {
    name: "create",
    move: "create",
    isLegal: ({ name }) => name === "no task",
    run: ({ store }, { task }) => store.create(task).catch(() => "refused"),
  },
  { name: "read", isLegal: () => false, run: ({ store }, { address }) => store.read(address) },
  {
    name: "answer",
    move: "resume",
    isLegal: isAsking,
    run: ({ store }, { address }) => store.answer(address, [{ key: ASKED.key, response: "{}" }]),
  },
  {
    name: "answer under a key that was not asked",
    isLegal: () => false,
    run: ({ store }, { address }) => store.answer(address, [{ key: "other", response: "{}" }]),
  },
  {
    name: "cancel",
    move: "cancel",
    isLegal: allows("cancel"),
    run: ({ store }, { address }) => store.cancel(address, "enough"),
  },
  {
    name: "cancel by another principal",
    isLegal: () => false,
    run: ({ store }, { address }) =>
      store.cancel({ ...address, owner: { ...address.owner, principal: "mallory" } }, "enough"),
  },
  {
    name: "claim",
    isLegal: (situation) =>
      allows("complete")(situation) &&
      situation.isOverdue !== true &&
      situation.lease !== "live" &&
      situation.sleep !== "goes on",
    run: ({ leases }, { ref }) => leases.claim(ref),
  },
  { name: "heartbeat", isLegal: isHeld, run: ({ leases }, { claim }) => leases.heartbeat(claim) },
  {
    name: "record a step",
    isLegal: isHeld,
    run: ({ leases }, { claim }) => leases.recordStep(claim, "outline", "[]"),
  },
  { name: "progress", isLegal: isHeld, run: ({ leases }, { claim }) => leases.progress(claim, "half") },
  { name: "extend", isLegal: isHeld, run: ({ leases }, { claim }) => leases.extend(claim, 3_600_000) },
  {
    name: "park on input",
    move: "ask",
    isLegal: isHeld,
    run: ({ leases }, { claim }) => leases.park(claim, { requests: [ASKED], sleeps: [] }),
  },
  {
    name: "park on time",
    isLegal: isHeld,
    run: ({ leases }, { claim }) =>
      leases.park(claim, { requests: [], sleeps: [{ name: "nap", durationMs: 60_000 }] }),
  },
  {
    name: "release at shutdown",
    isLegal: isHeld,
    run: ({ leases }, { claim }) => leases.release(claim, { reason: "shutdown" }),
  },
  {
    name: "release to retry",
    isLegal: isHeld,
    run: ({ leases }, { claim }) =>
      leases.release(claim, { reason: "retry", failed: "", delayMs: 60_000, message: "again" }),
  },
  ...(["complete", "fail", "cancel"] as const).map((move): Operation => ({
    name: `settle: ${move}`,
    move,
    isLegal: isHeld,
    run: ({ leases }, { claim }) => leases.settle(claim, settlementOf(MOVES[move].to)),
  })),
  {
    name: "rouse, as a dead lease or a timer",
    isLegal: ({ isOverdue = false, lease, sleep }) => !isOverdue && (lease === "over" || sleep === "is over"),
    run: ({ due }, { ref }) => due.rouse(ref),
  },
  {
    name: "expire",
    move: "expire",
    isLegal: (situation) => situation.isOverdue === true && allows("expire")(situation),
    run: ({ due }, { ref }) => due.expire(ref),
  },
];

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench[Symbol.asyncDispose]());

test("the matrix has every status of the table", () => {
  expect(UNTRIED_STATUSES).toEqual([]);
});

const named = <Thing extends { readonly name: string }>(things: readonly Thing[]) =>
  things.map((thing) => [thing.name, thing] as const);

describe.each(named(SITUATIONS))("%s", (_, situation) => {
  // What is past its keeping time goes: that has a test of its own.
  const tried = OPERATIONS.filter(({ name }) => situation.isRemovable !== true || name !== "expire");
  const legal = tried.filter((operation) => operation.isLegal(situation));
  const illegal = tried.filter((operation) => !operation.isLegal(situation));

  test.each(named(illegal))("%s: changes no byte", async (_, operation) => {
    const { before, after } = await tryOut(situation, operation);
    expect(after).toEqual(before);
  });

  test.each(named(legal))("%s: happens", async (_, operation) => {
    const { before, after } = await tryOut(situation, operation);
    expect(after.record).not.toEqual(before.record);
    expect(after.record).toMatchObject({ status: statusAfter(situation, operation) });
    expect(after.dueEntries).toBe(1);
  });
});

test.each(named(SITUATIONS.filter(({ isRemovable }) => isRemovable)))(
  "%s: goes, and leaves a tombstone with nothing but its owner",
  async (_, situation) => {
    const task = newTask();
    const { ref, address } = namesOf(task);
    await situation.reach(bench, task);
    const { due, store } = bench.with({});
    expect(await due.rouse(ref)).toEqual({ verdict: "overdue" });
    expect(await due.expire(ref)).toEqual({ verdict: "removed" });
    expect(await bench.bytesOf(ref)).toEqual({ record: { principal: "alice", expired: "1" }, dueEntries: 0 });
    expect(await store.read(address)).toEqual({ verdict: "expired" });
  },
);

/** What the table says; a timer that fires resumes a task that asks. */
function statusAfter(situation: Situation, { move }: Operation): string | undefined {
  if (move !== undefined) return MOVES[move].to;
  return situation.sleep === "is over" && isAsking(situation) ? MOVES.resume.to : situation.status;
}

async function tryOut(situation: Situation, operation: Operation) {
  const task = newTask();
  const names = namesOf(task);
  const held = await situation.reach(bench, task);
  const claim = held ?? { ref: names.ref, claimId: "never-was", epoch: 0 };
  const before = await bench.bytesOf(names.ref);
  await operation.run(bench.with({}), { ...names, task, claim });
  return { before, after: await bench.bytesOf(names.ref) };
}
