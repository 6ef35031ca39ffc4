import type { RedisTasks } from "@perdure/redis";
import { mintTaskId, tenantRefOf } from "@perdure/tasks";
import type { NewTask, TaskRef } from "@perdure/tasks";
import type { Redis } from "ioredis";

/** What may be acknowledged, and how its task's record shows that it is kept. */
const IS_KEPT = {
  creation: (record: Fields) => record["status"] !== undefined,
  step: (record: Fields) => record["st:outline"] !== undefined || record["endedBy"] !== undefined,
  question: (record: Fields) => record["rq:approve"] !== undefined || record["endedBy"] !== undefined,
  answer: (record: Fields) => record["rs:approve"] !== undefined || record["endedBy"] !== undefined,
  outcome: (record: Fields) => record["status"] === "completed" && record["result"] === RESULT,
  cancellation: (record: Fields) => record["status"] === "cancelled",
};

type Fields = Readonly<Record<string, string>>;

/** In the order in which a task goes through them. */
export const KINDS = ["creation", "step", "question", "answer", "outcome", "cancellation"] as const;

/** Something that somebody was told is done. */
export interface Acknowledged {
  readonly kind: (typeof KINDS)[number];
  readonly ref: TaskRef;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
}

const RESULT = '{"content":[],"resultType":"complete"}';
const OWNER = { tenant: "acme", principal: "alice" };

/** Clients and workers that work as fast as they can until the store is gone; gives all that they were told is done. */
export async function workUntilGone(tasks: RedisTasks, clients: number): Promise<readonly Acknowledged[]> {
  const acknowledged: Acknowledged[] = [];
  await Promise.all(
    Array.from({ length: clients }, async (_, client) => {
      try {
        for (let n = client; ; n++) await liveOneTask(tasks, n, acknowledged);
      } catch {
        // Cut off: what was not acknowledged is not counted.
      }
    }),
  );
  return acknowledged;
}

/** A whole life, a cancelled one, or one that has only begun. */
async function liveOneTask(
  { store, leases }: RedisTasks,
  n: number,
  acknowledged: Acknowledged[],
): Promise<void> {
  const task = newTask();
  const ref = { tenantRef: tenantRefOf(OWNER.tenant), taskId: task.taskId };
  const address = { owner: OWNER, taskId: task.taskId };
  const told = async (kind: Acknowledged["kind"], verdict: string, reply: Promise<{ verdict: string }>) => {
    const said = await reply;
    if (said.verdict !== verdict) throw new Error(`${kind}: ${said.verdict}`);
    acknowledged.push({ kind, ref, atMs: Date.now() });
  };
  const claim = async () => {
    const reply = await leases.claim(ref);
    if (reply.verdict !== "claimed") throw new Error(reply.verdict);
    return reply.task.claim;
  };

  await told("creation", "created", store.create(task));
  if (n % 4 === 0) return;
  if (n % 4 === 1) return told("cancellation", "cancelled", store.cancel(address, "enough"));
  const first = await claim();
  await told("step", "done", leases.recordStep(first, "outline", '{"value":"…"}'));
  const requests = [{ key: "approve", request: '{"method":"elicitation/create"}' }];
  await told("question", "parked", leases.park(first, { requests, sleeps: [] }));
  await told("answer", "accepted", store.answer(address, [{ key: "approve", response: "{}" }]));
  await told("outcome", "done", leases.settle(await claim(), { status: "completed", result: RESULT }));
}

function newTask(): NewTask {
  return {
    taskId: mintTaskId(),
    owner: OWNER,
    scopes: [],
    method: "tools/call",
    params: JSON.stringify({ name: "generate_report", arguments: { topic: "x".repeat(200) } }),
    tool: "generate_report",
    capabilities: "{}",
    ttlMs: 900_000,
    pollIntervalMs: 1000,
  };
}

/** Those of the acknowledged that are not in Redis any more. */
export async function lostOf(
  redis: Redis,
  acknowledged: readonly Acknowledged[],
): Promise<readonly Acknowledged[]> {
  const lost: Acknowledged[] = [];
  for (let at = 0; at < acknowledged.length; at += 500) {
    const some = acknowledged.slice(at, at + 500);
    const records = await Promise.all(
      some.map(({ ref }) => redis.hgetall(`{s00}:t:${ref.tenantRef}:${ref.taskId}`)),
    );
    lost.push(...some.filter(({ kind }, index) => !IS_KEPT[kind](records[index] ?? {})));
  }
  return lost;
}
