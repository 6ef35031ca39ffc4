import { MOVES, isLegal } from "@perdure/tasks";
import type { FencedReason, MoveName, TaskStatus } from "@perdure/tasks";

/*
 * What one task should do, written from the table of moves and the words of the ports, with no look at the scripts. Pure:
 * `step` gives the next state and the reply. Time is a number of ticks; nothing happens by itself.
 */

/** How long things last, in ticks. */
export const TICKS = { ttl: 600, lease: 60, rewake: 60, retention: 60 };
export const MAX_CRASHES = 1;
export const OWNER = "alice";

/** What a worker fences its writes with. */
export interface Held {
  readonly claimId: string;
  readonly epoch: number;
}

/** One call of a port. `op` is its operation id: the same again is the same operation, sent again. */
export type Operation =
  | { readonly do: "create" }
  | { readonly do: "read"; readonly by: string }
  | { readonly do: "answer"; readonly by: string; readonly answers: readonly Pair[]; readonly op: string }
  | { readonly do: "cancel"; readonly by: string; readonly op: string }
  | { readonly do: "claim"; readonly op: string }
  | { readonly do: "heartbeat"; readonly held: Held; readonly op: string }
  | { readonly do: "recordStep"; readonly held: Held; readonly name: string; readonly value: string }
  | { readonly do: "progress"; readonly held: Held; readonly message: string; readonly op: string }
  | { readonly do: "extend"; readonly held: Held; readonly ticks: number; readonly op: string }
  | {
      readonly do: "park";
      readonly held: Held;
      readonly requests: readonly Pair[];
      readonly sleeps: readonly (readonly [name: string, ticks: number])[];
      readonly op: string;
    }
  | { readonly do: "shutDown"; readonly held: Held; readonly op: string }
  | {
      readonly do: "retry";
      readonly held: Held;
      readonly failed: string;
      readonly ticks: number;
      readonly op: string;
    }
  | {
      readonly do: "settle";
      readonly held: Held;
      readonly status: "completed" | "failed" | "cancelled";
      readonly op: string;
    }
  | { readonly do: "rouse"; readonly op: string }
  | { readonly do: "expire"; readonly op: string };

type Pair = readonly [key: string, text: string];

/** What a port says, as far as it does not tell the time. */
export type Reply = Readonly<Record<string, unknown>> & { readonly verdict: string };

/** All that is to be known of a task. */
export interface Task {
  status: TaskStatus;
  message?: string;
  inputs?: string;
  result?: string;
  error?: string;
  ver: number;
  epoch: number;
  claim?: string;
  wake: number;
  asking?: string[];
  failures: number;
  crashes: number;
  endedBy?: FencedReason;
  /** When things are, in ticks. */
  at: {
    created: number;
    updated: number;
    expires: number;
    queued?: number;
    leaseEnd?: number;
    wake?: number;
    remove?: number;
  };
  journal: Record<string, string>;
  sleeps: Record<string, number>;
  said: Record<string, Reply>;
}

/** A task, what is left of one, or none yet. */
export type State = Task | "tombstone" | "none";

/** The texts that operations leave. */
export const RESULT = '{"content":[]}';
export const FAULT = '{"code":-1,"message":"no"}';
export const EXPIRED = '{"code":-32603,"message":"Task has expired"}';

/** The state after the operation at the time `now`, and what is said to the caller. `state` stays as it is. */
export function step(state: State, operation: Operation, now: number): readonly [State, Reply] {
  if (operation.do === "create") return create(state, now);
  if (state === "none" || state === "tombstone") return [state, withoutTask(state, operation)];
  const task = structuredClone(state);
  const before = "op" in operation ? task.said[operation.op] : undefined;
  const reply = act(task, operation, { now, before });
  return [reply.verdict === "removed" ? "tombstone" : task, reply];
}

function create(state: State, now: number): readonly [State, Reply] {
  // Whoever minted the id may have lost the reply; nobody else knows it.
  if (state === "tombstone") return [state, { verdict: "refused" }];
  if (state !== "none") return [state, { verdict: "created" }];
  const at = { created: now, updated: now, expires: now + TICKS.ttl, queued: now };
  const counts = { ver: 1, epoch: 0, wake: 1, failures: 0, crashes: 0 };
  return [
    { status: MOVES.create.to, ...counts, at, journal: {}, sleeps: {}, said: {} },
    { verdict: "created" },
  ];
}

function withoutTask(state: "none" | "tombstone", operation: Operation): Reply {
  if ("by" in operation)
    return { verdict: state === "tombstone" && operation.by === OWNER ? "expired" : "unknown" };
  if (operation.do === "claim") return { verdict: "unknown" };
  if (operation.do === "rouse" || operation.do === "expire") return { verdict: "gone" };
  return { verdict: "fenced", reason: "gone" };
}

interface Moment {
  readonly now: number;
  /** What was said to this operation before. */
  readonly before: Reply | undefined;
}

function act(task: Task, operation: Exclude<Operation, { do: "create" }>, { now, before }: Moment): Reply {
  if ("by" in operation && operation.by !== OWNER) return { verdict: "unknown" };
  if (operation.do === "read") return { verdict: "found" };
  if (operation.do === "claim") return claim(task, operation.op, now);
  if (before) return before;
  if ("held" in operation) {
    if (task.endedBy) return { verdict: "fenced", reason: task.endedBy };
    if (task.claim !== operation.held.claimId || task.epoch !== operation.held.epoch)
      return { verdict: "fenced", reason: "taken" };
  }
  const { ver } = task;
  const reply = change(task, operation, now);
  // A reply that changed nothing need not be the same again.
  const isNothing =
    ["later", "overdue", "terminal", "conflict"].includes(reply.verdict) ||
    (operation.do === "rouse" && reply["cause"] === "queued") ||
    (operation.do === "extend" && task.ver === ver) ||
    (operation.do === "answer" && Array.isArray(reply["applied"]) && reply["applied"].length === 0);
  if ("op" in operation && !isNothing) task.said[operation.op] = reply;
  return reply;
}

function claim(task: Task, claimId: string, now: number): Reply {
  const claimed = (): Reply => ({
    verdict: "claimed",
    epoch: task.epoch,
    attempt: 1 + task.failures,
    journal: { ...task.journal },
  });
  if (task.endedBy) return { verdict: "terminal" };
  if (task.claim === claimId) return claimed();
  if (task.said[claimId]) return { verdict: "held" };
  if (now >= task.at.expires) return { verdict: "overdue" };
  if (!isLegal("complete", task.status) || now < (task.at.wake ?? 0)) return { verdict: "parked" };
  if (task.claim) {
    if (now < (task.at.leaseEnd ?? 0) || task.crashes >= MAX_CRASHES) return { verdict: "held" };
    task.crashes += 1;
  }
  task.claim = claimId;
  task.epoch += 1;
  task.at.leaseEnd = now + TICKS.lease;
  delete task.at.queued;
  delete task.at.wake;
  task.said[claimId] = { verdict: "held" };
  return claimed();
}

function change(
  task: Task,
  operation: Exclude<Operation, { do: "create" | "read" | "claim" }>,
  now: number,
): Reply {
  switch (operation.do) {
    case "answer":
      return answer(task, operation.answers, now);
    case "cancel":
      if (task.endedBy) return { verdict: "terminal", status: task.status };
      end(task, "cancel", { by: "cancelled", now, message: "enough" });
      return { verdict: "cancelled" };
    case "heartbeat":
      task.at.leaseEnd = now + TICKS.lease;
      return { verdict: "done" };
    case "recordStep":
      task.journal[`st:${operation.name}`] ??= operation.value;
      return { verdict: "done" };
    case "progress":
      task.message = operation.message;
      show(task, now);
      return { verdict: "done" };
    case "extend":
      if (now + operation.ticks > task.at.expires) {
        task.at.expires = now + operation.ticks;
        show(task, now);
      }
      return { verdict: "done" };
    case "park":
      return park(task, operation, now);
    case "shutDown":
      endLease(task);
      return { verdict: "released", wakeUp: enqueue(task, now) };
    case "retry":
      endLease(task);
      task.failures += 1;
      task.journal[`at:${operation.failed}`] = String(
        Number(task.journal[`at:${operation.failed}`] ?? 0) + 1,
      );
      task.message = "again";
      show(task, now);
      if (operation.ticks === 0) return { verdict: "released", wakeUp: enqueue(task, now) };
      task.at.wake = now + operation.ticks;
      return { verdict: "released" };
    case "settle":
      return settle(task, operation.status, now);
    case "rouse":
      return rouse(task, now);
    case "expire":
      break;
  }
  if (now < (task.at.remove ?? task.at.expires)) return { verdict: "later" };
  if (task.endedBy) return { verdict: "removed" };
  end(task, "expire", { by: "expired", now, message: "Task has expired", error: EXPIRED });
  return { verdict: "failed" };
}

function answer(task: Task, answers: readonly Pair[], now: number): Reply {
  const applied: string[] = [];
  if (task.endedBy) return { verdict: "accepted", applied };
  for (const [key, response] of answers) {
    if (task.journal[`rq:${key}`] === undefined || task.journal[`rs:${key}`] !== undefined) continue;
    task.journal[`rs:${key}`] = response;
    applied.push(key);
  }
  if (!task.asking || applied.length === 0) return { verdict: "accepted", applied };
  const asking = task.asking.filter((key) => !applied.includes(key));
  if (asking.length === task.asking.length) return { verdict: "accepted", applied };
  if (asking.length > 0) {
    ask(task, asking);
    show(task, now);
    return { verdict: "accepted", applied };
  }
  stopAsking(task);
  delete task.at.wake;
  move(task, "resume", now);
  return { verdict: "accepted", applied, wakeUp: enqueue(task, now) };
}

function park(task: Task, { requests, sleeps }: Extract<Operation, { do: "park" }>, now: number): Reply {
  const known = { ...task.journal };
  for (const [key, request] of requests) {
    if ((known[`rq:${key}`] ??= request) !== request) return { verdict: "conflict", key };
  }
  task.journal = known;
  for (const [name, ticks] of sleeps) task.sleeps[name] ??= now + ticks;
  const ends = sleeps.map(([name]) => task.sleeps[name] ?? 0);
  const wakeAt = ends.length > 0 ? Math.min(...ends) : undefined;
  const asking = requests.map(([key]) => key).filter((key) => task.journal[`rs:${key}`] === undefined);

  endLease(task);
  const hasCome = asking.length === 0 && (requests.length > 0 || wakeAt === undefined);
  if (hasCome || (wakeAt !== undefined && wakeAt <= now))
    return { verdict: "parked", wakeUp: enqueue(task, now) };
  if (wakeAt !== undefined) task.at.wake = wakeAt;
  if (asking.length > 0) {
    ask(task, asking);
    move(task, "ask", now);
  }
  return { verdict: "parked" };
}

function settle(task: Task, status: "completed" | "failed" | "cancelled", now: number): Reply {
  const ends = { by: "settled", now } as const;
  if (status === "completed") end(task, "complete", { ...ends, result: RESULT });
  if (status === "failed") end(task, "fail", { ...ends, message: "no", error: FAULT });
  if (status === "cancelled") end(task, "cancel", { ...ends, message: "no" });
  return { verdict: "done" };
}

function rouse(task: Task, now: number): Reply {
  if (now >= (task.at.remove ?? task.at.expires)) return { verdict: "overdue" };
  if (task.endedBy) return { verdict: "later" };
  if (task.claim) {
    if (now < (task.at.leaseEnd ?? 0)) return { verdict: "later" };
    task.crashes += 1;
    if (task.crashes > MAX_CRASHES) {
      const message = `The task ended ${task.crashes} workers and was given up`;
      const error = JSON.stringify({ code: -32603, message });
      end(task, "fail", { by: "settled", now, message, error });
      return { verdict: "failed" };
    }
    endLease(task);
    return { verdict: "wake", cause: "lease-ended", wakeUp: enqueue(task, now) };
  }
  if (task.at.wake !== undefined) {
    if (now < task.at.wake) return { verdict: "later" };
    delete task.at.wake;
    if (task.asking) {
      stopAsking(task);
      move(task, "resume", now);
    }
    return { verdict: "wake", cause: "timer", wakeUp: enqueue(task, now) };
  }
  if (task.asking) return { verdict: "later" };
  return { verdict: "wake", cause: "queued", wakeUp: wakeUpOf(task) };
}

function show(task: Task, now: number): void {
  task.ver += 1;
  task.at.updated = now;
}

function move(task: Task, name: MoveName, now: number): void {
  if (!isLegal(name, task.status)) throw new Error(`The model itself moves by ${name} from ${task.status}`);
  task.status = MOVES[name].to;
  show(task, now);
}

function enqueue(task: Task, now: number): unknown {
  task.wake += 1;
  task.at.queued = now;
  return wakeUpOf(task);
}

const wakeUpOf = ({ wake, epoch }: Task): unknown => ({ wake, epoch, depth: 1 });

function endLease(task: Task): void {
  delete task.claim;
  delete task.at.leaseEnd;
}

function ask(task: Task, keys: string[]): void {
  task.asking = keys;
  task.inputs = `{${keys.map((key) => `${JSON.stringify(key)}:${task.journal[`rq:${key}`]}`).join(",")}}`;
}

function stopAsking(task: Task): void {
  delete task.asking;
  delete task.inputs;
}

interface Ending {
  readonly by: FencedReason;
  readonly now: number;
  readonly message?: string;
  readonly result?: string;
  readonly error?: string;
}

function end(task: Task, name: MoveName, { by, now, ...shown }: Ending): void {
  endLease(task);
  stopAsking(task);
  delete task.at.queued;
  delete task.at.wake;
  delete task.message;
  Object.assign(task, shown, { endedBy: by, journal: {}, sleeps: {} });
  task.at.remove = Math.max(task.at.expires, now + TICKS.retention);
  move(task, name, now);
}

/** When somebody must look at the task again: at the latest, for one that is queued. */
export function lookAt({ at, claim, endedBy }: Task, now: number): number {
  if (endedBy) return at.remove ?? 0;
  if (claim) return Math.min(at.leaseEnd ?? 0, at.expires);
  if (at.wake !== undefined) return Math.min(at.wake, at.expires);
  return at.queued === undefined ? at.expires : Math.min(now + 3 * TICKS.rewake, at.expires);
}
