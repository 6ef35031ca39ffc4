import { tenantRefOf } from "@perdure/tasks";
import type { TaskRef, WakeUp } from "@perdure/tasks";
import { z } from "zod";
import type { Scripts } from "../../packages/redis/src/scripts.ts";
import { CALM, newTask } from "../../packages/redis/src/testing/start-bench.ts";
import type { Bench, Sides } from "../../packages/redis/src/testing/start-bench.ts";
import { FAULT, MAX_CRASHES, RESULT, TICKS } from "./task-model.ts";
import type { Operation, Reply } from "./task-model.ts";

/** A tick in milliseconds: so long that what a test itself takes is nothing beside it. */
export const TICK_MS = 60_000;

const POLICY = {
  ...CALM,
  leaseMs: TICKS.lease * TICK_MS,
  rewakeMs: TICKS.rewake * TICK_MS,
  retentionMs: TICKS.retention * TICK_MS,
  tombstoneMs: 600_000,
  maxCrashes: MAX_CRASHES,
};

/** One task in a real Redis, behind the real scripts and their adapters. */
export interface RealTask {
  perform(operation: Operation): Promise<Reply>;
  /** Makes all that is known of the task so much older, and gives what is known then. */
  pass(ticks: number): Promise<View>;
  view(): Promise<View>;
  /** What its owner reads. */
  snapshot(): Promise<Readonly<Record<string, unknown>> | undefined>;
}

/** What lies in Redis of a task, times in ticks from now. */
export interface View {
  readonly record: Readonly<Record<string, string>>;
  readonly at: Readonly<Record<string, number>>;
  readonly counts: Readonly<Record<string, string>>;
  readonly due?: number;
}

const TIMES = /^(createdAt|updatedAt|leaseEnd|queuedAt|wakeAt|removeAt|sl:.*)$/;

const lookReply = z.tuple([z.array(z.string()), z.array(z.string()), z.string().nullable(), z.string()]);

/** Ages the record by ARGV[1] and tells it: fields, counts, due or false, now. */
const LOOK = `
local ms, record = tonumber(ARGV[1]), redis.call("HGETALL", KEYS[2])
if ms > 0 then
  for i = 1, #record, 2 do
    local name = record[i]
    if string.match(name, "At$") or name == "leaseEnd" or string.match(name, "^sl:") then
      record[i + 1] = tostring(redis.call("HINCRBY", KEYS[2], name, -ms))
    end
  end
  if redis.call("ZSCORE", KEYS[1], ARGV[2]) then redis.call("ZINCRBY", KEYS[1], -ms, ARGV[2]) end
end
local time = redis.call("TIME")
return { record, redis.call("HGETALL", KEYS[3]), redis.call("ZSCORE", KEYS[1], ARGV[2]), time[1] .. string.format("%03d", math.floor(time[2] / 1000)) }
`;

/** A task of a tenant of its own that does not exist yet. */
export function realTask(bench: Bench): RealTask {
  const task = newTask({ ttlMs: TICKS.ttl * TICK_MS });
  const ref: TaskRef = { tenantRef: tenantRefOf(task.owner.tenant), taskId: task.taskId };
  const keys = bench.base.keys.ofTask(ref);
  let op = "";
  const scripts: Scripts = {
    // The adapters mint their operation ids; here each operation has the id that it is given.
    run(name, run) {
      const minted = name === "claim" ? { claim: op } : "op" in run.args ? { op } : {};
      return bench.base.scripts.run(name, { ...run, args: { ...run.args, ...minted } });
    },
  };
  const sides = bench.on({ ...bench.base, scripts, policy: POLICY });

  const look = async (ticks: number): Promise<View> => {
    const member = `${ref.tenantRef}:${ref.taskId}`;
    const told = await bench.redis.eval(LOOK, 4, ...keys, ticks * TICK_MS, member);
    const [fields, counts, due, now] = lookReply.parse(told);
    const inTicks = (ms: string): number => Math.round((Number(ms) - Number(now)) / TICK_MS) + 0;
    const record = pairs(fields);
    const times = Object.entries(record).filter(([field]) => TIMES.test(field));
    return {
      record: Object.fromEntries(Object.entries(record).filter(([field]) => !TIMES.test(field))),
      at: {
        ...Object.fromEntries(times.map(([field, ms]) => [field, inTicks(ms)])),
        ...(record["createdAt"] && {
          expires: inTicks(String(Number(record["createdAt"]) + Number(record["ttl"]))),
        }),
      },
      counts: pairs(counts),
      ...(due !== null && { due: inTicks(due) }),
    };
  };

  return {
    async perform(operation) {
      op = "op" in operation ? operation.op : "";
      return perform(sides, { ref, task }, operation);
    },
    pass: look,
    view: () => look(0),
    async snapshot() {
      const reply = await sides.store.read({ owner: task.owner, taskId: task.taskId });
      return reply.verdict === "found" ? { ...reply.snapshot } : undefined;
    },
  };
}

function pairs(flat: readonly string[]): Record<string, string> {
  const entries: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) entries.push([flat[i] ?? "", flat[i + 1] ?? ""]);
  return Object.fromEntries(entries);
}

interface Names {
  readonly ref: TaskRef;
  readonly task: ReturnType<typeof newTask>;
}

const wakeUp = (sent: WakeUp | undefined) =>
  sent && { wakeUp: { wake: sent.wake, epoch: sent.epoch, depth: sent.depth } };

async function perform(
  { store, leases, due }: Sides,
  { ref, task }: Names,
  operation: Operation,
): Promise<Reply> {
  const by = (principal: string) => ({ owner: { ...task.owner, principal }, taskId: task.taskId });
  const claim = "held" in operation ? { ref, ...operation.held } : { ref, claimId: "", epoch: 0 };
  switch (operation.do) {
    case "create":
      return store.create(task).then(
        ({ verdict }) => ({ verdict }),
        () => ({ verdict: "refused" }),
      );
    case "read":
      return { verdict: (await store.read(by(operation.by))).verdict };
    case "answer": {
      const answers = operation.answers.map(([key, response]) => ({ key, response }));
      const reply = await store.answer(by(operation.by), answers);
      if (reply.verdict !== "accepted") return reply;
      return { verdict: reply.verdict, applied: reply.applied, ...wakeUp(reply.wakeUp) };
    }
    case "cancel":
      return store.cancel(by(operation.by), "enough");
    case "claim": {
      const reply = await leases.claim(ref);
      if (reply.verdict !== "claimed") return reply;
      const { journal, attempt } = reply.task;
      const entries = [
        ...[...journal.steps].map(([name, value]) => [`st:${name}`, value]),
        ...[...journal.requests].map(([key, value]) => [`rq:${key}`, value]),
        ...[...journal.answers].map(([key, value]) => [`rs:${key}`, value]),
        ...[...journal.failures].map(([name, value]) => [`at:${name}`, String(value)]),
      ];
      return {
        verdict: reply.verdict,
        epoch: reply.task.claim.epoch,
        attempt,
        journal: Object.fromEntries(entries),
      };
    }
    case "heartbeat":
      return { ...(await leases.heartbeat(claim)) };
    case "recordStep":
      return { ...(await leases.recordStep(claim, operation.name, operation.value)) };
    case "progress":
      return { ...(await leases.progress(claim, operation.message)) };
    case "extend":
      return { ...(await leases.extend(claim, operation.ticks * TICK_MS)) };
    case "park": {
      const reply = await leases.park(claim, {
        requests: operation.requests.map(([key, request]) => ({ key, request })),
        sleeps: operation.sleeps.map(([name, ticks]) => ({ name, durationMs: ticks * TICK_MS })),
      });
      return reply.verdict === "parked" ? { verdict: "parked", ...wakeUp(reply.wakeUp) } : { ...reply };
    }
    case "shutDown":
    case "retry": {
      const { failed, ticks } = operation.do === "retry" ? operation : { failed: "", ticks: 0 };
      const reply = await leases.release(
        claim,
        operation.do === "shutDown"
          ? { reason: "shutdown" }
          : { reason: "retry", failed, delayMs: ticks * TICK_MS, message: "again" },
      );
      return reply.verdict === "released" ? { verdict: "released", ...wakeUp(reply.wakeUp) } : { ...reply };
    }
    case "settle":
      return { ...(await leases.settle(claim, settlementOf(operation.status))) };
    case "rouse": {
      const reply = await due.rouse(ref);
      if (reply.verdict !== "wake") return reply;
      return { verdict: "wake", cause: reply.cause, ...wakeUp(reply.wakeUp) };
    }
    case "expire":
      break;
  }
  return { ...(await due.expire(ref)) };
}

function settlementOf(status: "completed" | "failed" | "cancelled") {
  if (status === "completed") return { status, result: RESULT };
  if (status === "failed") return { status, error: FAULT, statusMessage: "no" };
  return { status, statusMessage: "no" };
}
