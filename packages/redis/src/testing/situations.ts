import { TASK_STATUSES } from "@perdure/tasks";
import type { Claim, NewTask, Settlement, TaskStatus } from "@perdure/tasks";
import { CALM, namesOf, newTask } from "./start-bench.ts";
import type { Bench } from "./start-bench.ts";

/** A state that a task can be in, with all that decides what may happen next. */
export interface Situation {
  readonly name: string;
  /** Absent when there is no task (any more). */
  readonly status?: TaskStatus;
  readonly lease?: "live" | "over";
  readonly sleep?: "goes on" | "is over";
  /** The ttl is over. */
  readonly isOverdue?: boolean;
  /** The keeping time is over. */
  readonly isRemovable?: boolean;
  /** Brings a task that does not exist yet there. Gives the last claim that a worker had of it. */
  readonly reach: (bench: Bench, task: NewTask) => Promise<Claim | undefined>;
}

/** The request that an asking task has asked. */
export const ASKED = { key: "approve", request: '{"method":"elicitation/create","params":{"n":1.0}}' };

/** A task's settlement with the given status. */
export function settlementOf(status: Settlement["status"]): Settlement {
  if (status === "completed") return { status, result: '{"content":[]}' };
  if (status === "failed") return { status, error: '{"code":-1,"message":"no"}', statusMessage: "no" };
  return { status, statusMessage: "no" };
}

const LEASE_MS = CALM.leaseMs;
const SLEEP_MS = 30_000;
/** After this a new task is past its ttl, and an ended one past its keeping time. */
const TTL_MS = newTask().ttlMs;

export const SITUATIONS: readonly Situation[] = [
  { name: "no task", reach: async () => undefined },
  { name: "queued", status: "working", reach: create },
  { name: "queued, overdue", status: "working", isOverdue: true, reach: aged(create, TTL_MS) },
  { name: "leased", status: "working", lease: "live", reach: claim },
  {
    name: "leased, and the lease is over",
    status: "working",
    lease: "over",
    reach: aged(claim, LEASE_MS),
  },
  {
    name: "leased, overdue",
    status: "working",
    lease: "over",
    isOverdue: true,
    reach: aged(claim, TTL_MS),
  },
  { name: "asking", status: "input_required", reach: park({ asks: true }) },
  {
    name: "asking, overdue",
    status: "input_required",
    isOverdue: true,
    reach: aged(park({ asks: true }), TTL_MS),
  },
  {
    name: "asking, for a time",
    status: "input_required",
    sleep: "goes on",
    reach: park({ asks: true, sleeps: true }),
  },
  {
    name: "asking, for a time that is over",
    status: "input_required",
    sleep: "is over",
    reach: aged(park({ asks: true, sleeps: true }), SLEEP_MS),
  },
  { name: "sleeping", status: "working", sleep: "goes on", reach: park({ sleeps: true }) },
  {
    name: "sleeping, and the time is over",
    status: "working",
    sleep: "is over",
    reach: aged(park({ sleeps: true }), SLEEP_MS),
  },
  ...(["completed", "failed", "cancelled"] as const).flatMap((status): Situation[] => [
    { name: status, status, reach: settle(status) },
    {
      name: `${status}, and the keeping time is over`,
      status,
      isRemovable: true,
      reach: aged(settle(status), TTL_MS),
    },
  ]),
  { name: "failed by expiry", status: "failed", reach: expire },
  { name: "removed, with a tombstone", reach: remove },
];

/** Every status is among {@link SITUATIONS}. */
export const UNTRIED_STATUSES = TASK_STATUSES.filter(
  (status) => !SITUATIONS.some((situation) => situation.status === status),
);

type Reach = Situation["reach"];

function aged(reach: Reach, ms: number): Reach {
  return async (bench, task) => {
    const held = await reach(bench, task);
    await bench.age(namesOf(task).ref, ms);
    return held;
  };
}

async function create(bench: Bench, task: NewTask): Promise<undefined> {
  await bench.with({}).store.create(task);
}

async function claim(bench: Bench, task: NewTask): Promise<Claim> {
  await create(bench, task);
  const reply = await bench.with({}).leases.claim(namesOf(task).ref);
  if (reply.verdict !== "claimed") throw new Error(`Expected a claim, got "${reply.verdict}"`);
  return reply.task.claim;
}

function park({ asks = false, sleeps = false }): (bench: Bench, task: NewTask) => Promise<Claim> {
  return async (bench, task) => {
    const held = await claim(bench, task);
    await bench.with({}).leases.park(held, {
      requests: asks ? [ASKED] : [],
      sleeps: sleeps ? [{ name: "rest", durationMs: SLEEP_MS }] : [],
    });
    return held;
  };
}

function settle(status: Settlement["status"]): Reach {
  return async (bench, task) => {
    const held = await claim(bench, task);
    await bench.with({}).leases.settle(held, settlementOf(status));
    return held;
  };
}

async function expire(bench: Bench, task: NewTask): Promise<Claim> {
  const held = await claim(bench, task);
  await bench.age(namesOf(task).ref, TTL_MS);
  await bench.with({}).due.expire(namesOf(task).ref);
  return held;
}

async function remove(bench: Bench, task: NewTask): Promise<Claim> {
  const held = await expire(bench, task);
  await bench.age(namesOf(task).ref, CALM.retentionMs);
  await bench.with({}).due.expire(namesOf(task).ref);
  return held;
}
