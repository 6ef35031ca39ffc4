import { MOVES, TASK_STATUSES, isTerminal } from "@perdure/tasks";
import type { TaskStatus } from "@perdure/tasks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startBench } from "../../packages/redis/src/testing/start-bench.ts";
import type { Bench } from "../../packages/redis/src/testing/start-bench.ts";
import { NOWHERE, canonical, expiryOf, exploreFrom } from "./state-space.ts";
import type { SpaceState, Transition } from "./state-space.ts";

/*
 * What must hold in every state that create, claim, beat, ask, answer, commit, cancel, rescue, expire, a crash and the end
 * of a lease lead to, in any order, with two workers.
 *
 * Each of these was seen to turn the test red: no comparison of claim and epoch in `fenced` (I3), a claim that looks at no
 * `leaseEnd` (I3), a cancel of a task that has ended (I2), a change without one more `ver` (I4), `expire` that removes at
 * once or before the keeping time is over (I10), `create` over a tombstone (I10), a timer that is not due (I10, I13), a slot
 * not given back at the end (the counts).
 */

let bench: Bench;
beforeAll(async () => {
  bench = await startBench();
});
afterAll(() => bench[Symbol.asyncDispose]());

const AT_ONCE = 8;

const statusOf = ({ fields }: SpaceState): TaskStatus | undefined =>
  TASK_STATUSES.find((status) => status === fields["status"]);
const isEnded = (state: SpaceState): boolean => {
  const status = statusOf(state);
  return status !== undefined && isTerminal(status);
};
const bytesOf = ({ fields, units, counts }: SpaceState): string =>
  JSON.stringify([sorted(fields), sorted(units), sorted(counts)]);
const sorted = (of: Readonly<Record<string, unknown>>) =>
  Object.entries(of).sort(([a], [b]) => (a < b ? -1 : 1));
const number = ({ fields }: SpaceState, name: string): number => Number(fields[name] ?? 0);

const SHOWN = ["status", "message", "inputs", "result", "error", "ttl"];

/** What a transition breaks, one line each. Time alone moves nothing but time. */
function brokenBy({ name, worker, from, to, verdict }: Transition): readonly string[] {
  const broken: string[] = [];
  const must = (isKept: boolean, promise: string): void => {
    if (!isKept) broken.push(promise);
  };
  const [was, is] = [statusOf(from), statusOf(to)];
  const isSame = bytesOf(from) === bytesOf(to);
  const belief = worker === undefined ? undefined : from.beliefs[worker];
  const isHolder = belief !== undefined && belief.claimId === from.fields["claim"] && was !== undefined;

  // I2
  if (was !== undefined && is !== undefined && was !== is)
    must(
      Object.values(MOVES).some(
        (move) => (move.from as readonly TaskStatus[]).includes(was) && move.to === is,
      ),
      `I2: ${was} to ${is} is no move of the table`,
    );
  if (isEnded(from) && is !== undefined && name !== "time")
    must(isSame, "I2: a terminal task has changed before it was removed");

  // I3
  const isWrite = worker !== undefined && !name.startsWith("claim") && !name.startsWith("crash");
  if (isWrite && !isHolder) must(isSame, "I3: a worker that does not hold the task has changed it");
  if (isWrite && !isHolder) must(verdict === "fenced" || verdict === "holds nothing", "I3: not fenced");
  if (name.startsWith("commit") && verdict === "done")
    must(isHolder && !isEnded(from), "I3: a commit by nobody who may");
  if (verdict === "claimed")
    must(
      from.fields["claim"] === undefined || (from.units["leaseEnd"] ?? 0) <= 0,
      "I3: two workers hold live leases",
    );

  // I4
  if (is !== undefined && was !== undefined) {
    const isShownAnew = SHOWN.some((field) => from.fields[field] !== to.fields[field]);
    must(number(to, "ver") === number(from, "ver") + (isShownAnew ? 1 : 0), "I4: ver counts the changes");
    must(
      number(to, "epoch") === number(from, "epoch") + (verdict === "claimed" ? 1 : 0),
      "I4: the epoch counts the claims",
    );
  }

  // I9
  if (was === "cancelled") {
    must(is === "cancelled" || is === undefined, "I9: a cancelled task has become something else");
    must(to.fields["claim"] === undefined, "I9: a cancelled task has started again");
    must(verdict !== "claimed" && verdict !== "wake", "I9: a cancelled task was given to a worker");
  }
  if (name === "cancel" && was !== undefined)
    must(isEnded(to) && (isEnded(from) || is === "cancelled"), "I9: cancelling left the task going on");

  // I10
  if (was !== undefined && is === undefined) {
    must(
      isEnded(from) && (from.units["removeAt"] ?? 1) <= 0,
      "I10: a task went before it had failed and was kept",
    );
    must(to.fields["expired"] === "1", "I10: a task went without a tombstone");
  }
  if (from.fields["expired"] !== undefined) must(isSame, "I10: a late writer brought a record back");
  if (name === "expire" && was !== undefined && !isEnded(from) && expiryOf(from) <= 0)
    must(is === "failed", "I10: an overdue task did not fail");
  return broken;
}

/** What is wrong with a state by itself. */
function wrongIn(state: SpaceState): readonly string[] {
  const { fields, units, counts, due } = state;
  if (statusOf(state) === undefined)
    return due === undefined && Object.keys(counts).length === 0
      ? []
      : ["what is gone is still counted or due"];
  const isClaimed = fields["claim"] !== undefined;
  const counted = {
    ...(!isEnded(state) && { open: "1" }),
    ...(units["queuedAt"] !== undefined && { queued: "1" }),
    ...(isClaimed && { running: "1" }),
  };
  const problems: string[] = [];
  if (JSON.stringify(sorted(counts)) !== JSON.stringify(sorted(counted)))
    problems.push(`counted as ${JSON.stringify(counts)}, and is ${JSON.stringify(counted)}`);
  if (isClaimed !== (units["leaseEnd"] !== undefined))
    problems.push("a claim without an end, or an end without a claim");
  if (isEnded(state) && isClaimed) problems.push("I3: an ended task is held");
  if ((fields["inputs"] !== undefined) !== (statusOf(state) === "input_required"))
    problems.push("questions are shown by a task that does not ask, or not by one that does");
  if (due === undefined) return [...problems, "I10, I13: nobody will look at the task again"];
  const latest = isEnded(state)
    ? (units["removeAt"] ?? 0)
    : Math.min(expiryOf(state), units["leaseEnd"] ?? units["wakeAt"] ?? Infinity);
  if (due > latest) problems.push(`I10, I13: looked at in ${due} units, and ought to be in ${latest}`);
  return problems;
}

test("I2, I3, I9, I10: hold in every state that two workers, clients, crashes and time can bring a task to", async () => {
  const names = new Map<string, { readonly state: SpaceState; readonly way: string }>([
    [canonical(NOWHERE), { state: NOWHERE, way: "" }],
  ]);
  const problems = new Set<string>();
  let frontier = [...names.values()];
  let [transitions, depth] = [0, 0];
  for (; frontier.length > 0 && problems.size === 0; depth++) {
    const next: typeof frontier = [];
    const lanes = Array.from({ length: AT_ONCE }, async (_, lane) => {
      for (let at = lane; at < frontier.length; at += AT_ONCE) {
        const { state, way } = frontier[at]!;
        for (const transition of await exploreFrom(bench, state)) {
          transitions++;
          const wayTo = `${way} → ${transition.name}`;
          const wrong = [...brokenBy(transition), ...wrongIn(transition.to)];
          for (const problem of wrong) problems.add(`${problem}, by${wayTo} (${transition.verdict})`);
          const name = canonical(transition.to);
          if (names.has(name)) continue;
          names.set(name, { state: transition.to, way: wayTo });
          next.push({ state: transition.to, way: wayTo });
        }
      }
    });
    await Promise.all(lanes);
    frontier = next;
  }
  console.log(`state space: ${names.size} states, ${transitions} transitions, closed at depth ${depth}`);
  expect([...problems].slice(0, 5)).toEqual([]);
  expect(names.size).toBeGreaterThan(300);
  const seen = [...names.values()].map(({ state }) => statusOf(state));
  for (const status of ["working", "input_required", "completed", "failed", "cancelled", undefined])
    expect(seen).toContain(status);
}, 300_000);
