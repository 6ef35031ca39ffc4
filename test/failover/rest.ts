import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { LeftJob, Rest, Strangers } from "./checks/evidence.ts";
import { ask } from "./client.ts";
import type { History } from "./history.ts";
import { type Audience, anyReplica } from "./journey.ts";
import type { Random } from "./random.ts";
import type { Stage } from "./stage.ts";

/*
 * What is looked at once all faults are over: parked tasks, and what a stranger is told.
 */

const PARKED = 40;
const REST_MS = 40_000;
const QUIET_MS = 8000;
const QUEUE = "{s00}:wakeups:";
const JOB = /^[\w-]{16,}-\d+-\d+$/;
const handle = z.looseObject({ taskId: z.string() });
const status = z.looseObject({ status: z.string() });

type Client = (method: string, params: Record<string, unknown>) => Promise<Record<string, unknown>>;

/**
 * Parks tasks, looks what lies in BullMQ, and starts a fresh one among them. The parked ones are cancelled at the end. A rest
 * that cannot be had, because something does not come, is told as such.
 */
export async function takeRest(stage: Stage, token: string): Promise<Rest> {
  try {
    return await rest(stage, token);
  } catch (error) {
    return { parked: [], jobs: [], freshTaskId: "", problem: String(error) };
  }
}

async function rest(stage: Stage, token: string): Promise<Rest> {
  const client = clientOf(stage, token);
  const create = async (tool: string, args: Record<string, unknown>): Promise<string> =>
    handle.parse(await client("tools/call", { name: tool, arguments: args })).taskId;
  const untilStatus = async (taskId: string, wanted: string): Promise<void> => {
    const deadline = performance.now() + REST_MS;
    while (status.parse(await client("tasks/get", { taskId })).status !== wanted) {
      if (performance.now() > deadline) throw new Error(`At rest, a task did not become ${wanted}`);
      await delay(100);
    }
  };
  const parked = await Promise.all(
    Array.from({ length: PARKED }, (_, i) => create("one_input", { note: `parked-${i}` })),
  );
  await Promise.all(parked.map((taskId) => untilStatus(taskId, "input_required")));
  const jobs = await quietJobs(stage);
  const freshTaskId = await create("plain", { note: "fresh", ms: 10 });
  await untilStatus(freshTaskId, "completed");
  await Promise.all(parked.map((taskId) => client("tasks/cancel", { taskId })));
  return { parked, jobs, freshTaskId };
}

/** The jobs that are there; they get a moment to go. */
async function quietJobs({ redis }: Stage): Promise<readonly LeftJob[]> {
  const deadline = performance.now() + QUIET_MS;
  for (;;) {
    const keys = await redis.keys(`${QUEUE}*`);
    const hashes = keys.map((key) => key.slice(QUEUE.length)).filter((name) => JOB.test(name));
    const listed = {
      wait: await redis.lrange(`${QUEUE}wait`, 0, -1),
      active: await redis.lrange(`${QUEUE}active`, 0, -1),
      prioritized: await redis.zrange(`${QUEUE}prioritized`, "0", "-1"),
      delayed: await redis.zrange(`${QUEUE}delayed`, "0", "-1"),
    };
    const ids = new Set([...hashes, ...Object.values(listed).flat()].filter((id) => JOB.test(id)));
    const jobs = [...ids].map((id) => ({
      id,
      lists: Object.entries(listed).flatMap(([name, list]) => (list.includes(id) ? [name] : [])),
    }));
    if (jobs.length === 0 || performance.now() > deadline) return jobs;
    await delay(100);
  }
}

/** Asks for tasks of others, and for tasks that nobody has, as another tenant and as another principal. */
export async function askAsStrangers(
  { stage, tokenOf }: Audience,
  histories: readonly History[],
  random: Random,
): Promise<Strangers> {
  const real = random.shuffle(histories.filter(({ taskId }) => taskId !== undefined)).slice(0, 20);
  const toOthers: string[] = [];
  const toNobody: string[] = [];
  for (const { scene, taskId = "" } of real) {
    const stranger = random.chance(0.5)
      ? { ...scene, tenant: `${scene.tenant}-other` }
      : { ...scene, principal: `${scene.principal}-other` };
    const method = random.pick(["tasks/get", "tasks/update", "tasks/cancel"]);
    const more = method === "tasks/update" ? { inputResponses: {} } : {};
    for (const [id, told] of [
      [taskId, toOthers],
      [Array.from(taskId).toReversed().join(""), toNobody],
    ] as const) {
      const url = anyReplica({ stage }, random.next())?.url ?? "";
      const token = tokenOf(stranger);
      const { httpStatus, error, verdict } = await ask(
        { url, token },
        { method, params: { taskId: id, ...more }, timeoutMs: 6000 },
      );
      told.push(`${httpStatus} ${verdict} ${JSON.stringify(error)}`);
    }
  }
  return { toOthers, toNobody };
}

function clientOf(stage: Stage, token: string): Client {
  let turn = 0;
  return async (method, params) => {
    for (let tries = 0; ; tries += 1) {
      turn += 1;
      const url = anyReplica({ stage }, (turn % 7) / 7)?.url ?? "";
      const { verdict, result, error } = await ask({ url, token }, { method, params, timeoutMs: 6000 });
      if (verdict === "ok" && result) return result;
      if (verdict === "refused" || tries > 20) throw new Error(`At rest, ${method}: ${error?.message}`);
      await delay(200);
    }
  };
}
