import { tenantRefOf } from "@perdure/tasks";
import type { Claim, TaskRef } from "@perdure/tasks";
import { z } from "zod";
import { CALM, newTask } from "../../packages/redis/src/testing/start-bench.ts";
import type { Bench, Sides } from "../../packages/redis/src/testing/start-bench.ts";

/*
 * Every state that a task and two workers can be in, found by trying everything in every state on the real scripts. A
 * state is put into Redis under a task of its own, one thing is done to it, and what is there then is a state again.
 *
 * The space is closed: times are whole leases from now, and all that is over is the same; nonces, `ver`, `wake` and the
 * numbers of epochs are left out; the two workers may change places.
 */

/** Milliseconds. A lease, a sleep and the keeping time are one unit, the ttl is three. */
const UNIT_MS = 600_000;
const TTL_UNITS = 3;
const POLICY = {
  ...CALM,
  leaseMs: UNIT_MS,
  rewakeMs: UNIT_MS,
  retentionMs: UNIT_MS,
  tombstoneMs: UNIT_MS,
  maxCrashes: 1,
};
const OWNER = newTask().owner;
const REQUEST = '{"method":"elicitation/create"}';

/** What a worker believes to hold. */
export type Belief = Pick<Claim, "claimId" | "epoch"> | undefined;

/** A record as it lies in Redis, with its times in units from now. */
export interface Snapshot {
  readonly fields: Readonly<Record<string, string>>;
  readonly units: Readonly<Record<string, number>>;
  readonly counts: Readonly<Record<string, string>>;
  /** In units from now; absent when the task is not due. */
  readonly due?: number;
}

/** A state: the record, and what the two workers believe. */
export interface SpaceState extends Snapshot {
  readonly beliefs: readonly [Belief, Belief];
}

/** One thing that is done, by whom, and what came of it. */
export interface Transition {
  readonly name: string;
  readonly worker?: 0 | 1;
  readonly from: SpaceState;
  readonly to: SpaceState;
  readonly verdict: string;
}

interface Act {
  readonly name: string;
  readonly worker?: 0 | 1;
  readonly run: (at: Place) => Promise<string>;
}

interface Place {
  readonly sides: Sides;
  readonly ref: TaskRef;
  readonly task: ReturnType<typeof newTask>;
  readonly beliefs: [Belief, Belief];
}

const address = ({ task }: Place, principal = OWNER.principal) => ({
  owner: { ...task.owner, principal },
  taskId: task.taskId,
});

const NO_CLAIM = { claimId: "", epoch: 0 };

const asWorker = (worker: 0 | 1): readonly Act[] => {
  const name = worker === 0 ? "A" : "B";
  const held = ({ ref, beliefs }: Place): Claim => ({ ...(beliefs[worker] ?? NO_CLAIM), ref });
  const write = (what: string, run: (at: Place) => Promise<{ verdict: string }>): Act => ({
    name: `${what} ${name}`,
    worker,
    run: async (at) => (at.beliefs[worker] ? (await run(at)).verdict : "holds nothing"),
  });
  return [
    {
      name: `claim ${name}`,
      worker,
      async run({ sides, ref, beliefs }) {
        const reply = await sides.leases.claim(ref);
        if (reply.verdict === "claimed") {
          const { claimId, epoch } = reply.task.claim;
          beliefs[worker] = { claimId, epoch };
        }
        return reply.verdict;
      },
    },
    write("beat", (at) => at.sides.leases.heartbeat(held(at))),
    write("ask", (at) =>
      at.sides.leases.park(held(at), { requests: [{ key: "a", request: REQUEST }], sleeps: [] }),
    ),
    write("ask for a time", (at) =>
      at.sides.leases.park(held(at), {
        requests: [{ key: "a", request: REQUEST }],
        sleeps: [{ name: "s", durationMs: UNIT_MS }],
      }),
    ),
    write("release", (at) => at.sides.leases.release(held(at), { reason: "shutdown" })),
    write("commit", (at) =>
      at.sides.leases.settle(held(at), { status: "completed", result: `{"by":"${name}"}` }),
    ),
    {
      name: `crash ${name}`,
      worker,
      async run({ beliefs }) {
        beliefs[worker] = undefined;
        return "crashed";
      },
    },
  ];
};

const ACTS: readonly Act[] = [
  {
    name: "create",
    run: ({ sides, task }) =>
      sides.store.create(task).then(
        ({ verdict }) => verdict,
        () => "refused",
      ),
  },
  {
    name: "answer",
    run: async (at) => (await at.sides.store.answer(address(at), [{ key: "a", response: "{}" }])).verdict,
  },
  { name: "cancel", run: async (at) => (await at.sides.store.cancel(address(at), "enough")).verdict },
  {
    name: "cancel by a stranger",
    run: async (at) => (await at.sides.store.cancel(address(at, "mallory"), "enough")).verdict,
  },
  { name: "rescue", run: async ({ sides, ref }) => (await sides.due.rouse(ref)).verdict },
  { name: "expire", run: async ({ sides, ref }) => (await sides.due.expire(ref)).verdict },
  // The record is put back a unit older: a lease ends, the ttl comes nearer.
  { name: "time", run: async () => "passed" },
  ...asWorker(0),
  ...asWorker(1),
];

const PUT = `
local time = redis.call("TIME")
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local state, unit = cjson.decode(ARGV[1]), tonumber(ARGV[2])
for name, text in pairs(state.fields) do redis.call("HSET", KEYS[2], name, text) end
for name, units in pairs(state.units) do redis.call("HSET", KEYS[2], name, string.format("%.0f", now + units * unit)) end
for name, text in pairs(state.counts) do redis.call("HSET", KEYS[3], name, text) end
if state.due then redis.call("ZADD", KEYS[1], now + state.due * unit, ARGV[3]) end
`;
const TAKE = `
local time = redis.call("TIME")
local told = { redis.call("HGETALL", KEYS[2]), redis.call("HGETALL", KEYS[3]), redis.call("ZSCORE", KEYS[1], ARGV[1]),
  time[1] .. string.format("%03d", math.floor(time[2] / 1000)) }
redis.call("DEL", KEYS[2], KEYS[3], KEYS[4])
redis.call("ZREM", KEYS[1], ARGV[1])
return told
`;
const TIMES = /^(createdAt|updatedAt|leaseEnd|queuedAt|wakeAt|removeAt|sl:.*)$/;

/** Nothing exists, and nobody believes anything. */
export const NOWHERE: SpaceState = { fields: {}, units: {}, counts: {}, beliefs: [undefined, undefined] };

/** Does everything that can be done in the state. */
export function exploreFrom(bench: Bench, from: SpaceState): Promise<readonly Transition[]> {
  return Promise.all(ACTS.map((act) => tryOut(bench, from, act)));
}

async function tryOut(bench: Bench, from: SpaceState, act: Act): Promise<Transition> {
  const task = newTask({ ttlMs: TTL_UNITS * UNIT_MS });
  const ref = { tenantRef: tenantRefOf(task.owner.tenant), taskId: task.taskId };
  const keys = bench.base.keys.ofTask(ref);
  const member = `${ref.tenantRef}:${ref.taskId}`;
  const { beliefs: before, ...snapshot } = act.name === "time" ? older(from) : from;
  const beliefs: [Belief, Belief] = [...before];
  await bench.redis.eval(PUT, 4, ...keys, JSON.stringify(snapshot), UNIT_MS, member);
  const sides = bench.on({ ...bench.base, policy: POLICY });
  const verdict = await act.run({ sides, ref, task, beliefs });
  const told = await bench.redis.eval(TAKE, 4, ...keys, member);
  const to = { ...snapshotOf(takeReply.parse(told)), beliefs };
  return {
    name: act.name,
    ...(act.worker !== undefined && { worker: act.worker }),
    from,
    to,
    verdict,
  };
}

const takeReply = z.tuple([z.array(z.string()), z.array(z.string()), z.string().nullable(), z.string()]);

function snapshotOf([flat, flatCounts, due, now]: z.output<typeof takeReply>): Snapshot {
  const inUnits = (ms: string): number => Math.round((Number(ms) - Number(now)) / UNIT_MS) + 0;
  const entries = pairs(flat);
  return {
    fields: Object.fromEntries(entries.filter(([field]) => !TIMES.test(field))),
    units: Object.fromEntries(
      entries.filter(([field]) => TIMES.test(field)).map(([field, ms]) => [field, inUnits(ms)]),
    ),
    counts: Object.fromEntries(pairs(flatCounts)),
    ...(due !== null && { due: inUnits(due) }),
  };
}

function pairs(flat: readonly string[]): readonly (readonly [string, string])[] {
  return flat.flatMap((name, at) => (at % 2 ? [] : [[name, flat[at + 1] ?? ""] as const]));
}

function older(state: SpaceState): SpaceState {
  const units = Object.fromEntries(Object.entries(state.units).map(([field, unit]) => [field, unit - 1]));
  return { ...state, units, ...(state.due !== undefined && { due: state.due - 1 }) };
}

/** When the task expires, in units from now. */
export function expiryOf({ fields, units }: Snapshot): number {
  return (units["createdAt"] ?? 0) + Number(fields["ttl"]) / UNIT_MS;
}

/** The same text for states between which nothing can tell. */
export function canonical(state: SpaceState): string {
  const [first, second] = [partOf(state, [0, 1]), partOf(state, [1, 0])];
  return first < second ? first : second;
}

function partOf(state: SpaceState, order: readonly (0 | 1)[]): string {
  const { fields, units } = state;
  const left = (unit: number | undefined): number | undefined =>
    unit === undefined ? undefined : Math.max(unit, 0);
  const { status, crashes, asking, endedBy, expired } = fields;
  const journal = Object.keys(fields)
    .filter((field) => /^(rq|rs):/.test(field))
    .sort();
  const held = order.map((worker) => {
    const belief = state.beliefs[worker];
    if (!belief) return "nothing";
    return fields["claim"] !== undefined && belief.claimId === fields["claim"] ? "the task" : "a dead claim";
  });
  return JSON.stringify([
    { status, crashes, asking, endedBy, expired, isQueued: units["queuedAt"] !== undefined, journal },
    { isClaimed: fields["claim"] !== undefined, held },
    {
      leaseEnd: left(units["leaseEnd"]),
      wakeAt: left(units["wakeAt"]),
      sleep: left(units["sl:s"]),
      removeAt: left(units["removeAt"]),
      expires: status === undefined || endedBy !== undefined ? undefined : left(expiryOf(state)),
    },
  ]);
}
