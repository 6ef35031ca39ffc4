import { mintNonce, mintTaskId, tenantRefOf } from "@perdure/tasks";
import { created } from "../created.ts";
import type {
  AnswerReply,
  Claim,
  ClaimedTask,
  DueTasks,
  FencedReason,
  HintSource,
  NewTask,
  ParkReply,
  ReadReply,
  ReleaseReply,
  RouseReply,
  TaskAddress,
  TaskLeases,
  TaskRef,
  TaskSnapshot,
  TaskStore,
  WakeUp,
} from "@perdure/tasks";
import { expect } from "vitest";
import { until } from "../until.ts";

/** One side of the ports, as one process has them: connected, and ended by `stop`. */
export interface TaskPorts {
  readonly store: TaskStore;
  readonly leases: TaskLeases;
  readonly due: DueTasks;
  /** Started. */
  readonly hints: HintSource;
  stop(): Promise<void>;
}

/** The times that a suite needs to be short, all in milliseconds, and the deaths of workers that a task survives. */
export interface TaskPortsOptions {
  readonly leaseMs: number;
  /** How soon a task whose wake-up is lost is due. */
  readonly rewakeMs: number;
  /** How long an expired task shows as failed. */
  readonly retentionMs: number;
  /** How long the owner of a removed task is told that it has expired. */
  readonly tombstoneMs: number;
  readonly maxCrashes: number;
}

/** Makes one side of the ports. All sides that it makes share one store, as replicas do. */
export type MakeTaskPorts = (options: TaskPortsOptions) => Promise<TaskPorts>;

/** Long times: nothing ends by itself during a test. */
export const CALM: TaskPortsOptions = {
  leaseMs: 60_000,
  rewakeMs: 60_000,
  retentionMs: 60_000,
  tombstoneMs: 60_000,
  maxCrashes: 20,
};

/** A task that a test has made, by all its names. */
export interface MadeTask {
  readonly task: NewTask;
  readonly address: TaskAddress;
  readonly ref: TaskRef;
  readonly snapshot: TaskSnapshot;
  readonly wakeUp: WakeUp;
}

/** JSON that a store which parses it would spoil. */
export const DELICATE_JSON =
  '{ "list":[], "one":1.0, "big":12345678901234567890, "exp":1e400, "half":"\\ud800", "t":"é\\u0000|\\n", "__proto__":{"a":null} }';

/** Names and keys that a careless store would trip over. */
export const DELICATE_NAMES = [
  "__proto__",
  "constructor",
  "a:b",
  "rq:a",
  "status",
  'say "hi"\\',
  "line\nbreak",
  "naïve ☃",
  "1",
];

/** A new task of a tenant of its own, unless `changes` says otherwise. It is not stored yet. */
export function newTask(changes: Partial<NewTask> = {}): NewTask {
  return {
    taskId: mintTaskId(),
    owner: { tenant: `tenant-${mintNonce()}`, principal: "alice" },
    scopes: ["reports:write", "tasks"],
    method: "tools/call",
    params: '{"name":"generate_report","arguments":{"size":"large"}}',
    tool: "generate_report",
    capabilities: '{"elicitation":{}}',
    ttlMs: 600_000,
    pollIntervalMs: 1_000,
    ...changes,
  };
}

/** A write by name, the reply, and what `read` says after it. */
export type WriteTrial = readonly [string, unknown, ReadReply];

/** What `tryWrites` gives when no write changes anything. `reason` is the one that all must name; any when absent. */
export function allFenced(seen: ReadReply, reason?: FencedReason): readonly WriteTrial[] {
  return WORKER_WRITES.map(([name]) => [
    name,
    { verdict: "fenced", reason: reason ?? expect.any(String) },
    seen,
  ]);
}

/** The wake-up in a reply that must have one. */
export function wakeUpOf(reply: AnswerReply | ParkReply | ReleaseReply | RouseReply): WakeUp {
  if ("wakeUp" in reply && reply.wakeUp) return reply.wakeUp;
  throw new Error(`Expected a wake-up, got ${JSON.stringify(reply)}`);
}

/** The steps that tests are made of; each fails the test when the port says anything but the expected. */
export interface TaskBench {
  readonly ports: TaskPorts;
  create(changes?: Partial<NewTask>): Promise<MadeTask>;
  /** The owner's view. */
  read(made: MadeTask): Promise<TaskSnapshot>;
  claim(made: MadeTask): Promise<ClaimedTask>;
  createClaimed(changes?: Partial<NewTask>): Promise<MadeTask & { readonly claim: Claim }>;
  /** Claims a task as soon as the lease that holds it has ended. */
  takeOver(made: MadeTask): Promise<ClaimedTask>;
  /** Tries every write of a worker under the claim: its name, what it said, and what the owner reads after it. */
  tryWrites(made: MadeTask, claim: Claim): Promise<readonly WriteTrial[]>;
  /** Parks a new task on the requests under `keys`. */
  createAsking(keys: readonly string[]): Promise<MadeTask & { readonly claim: Claim }>;
  /** Takes from the due tasks until this one is among them. */
  takeDue(made: MadeTask): Promise<void>;
  /** Waits for the task to be due, and rouses it, until the answer is something else than "later". */
  rouseWhenDue(made: MadeTask): Promise<RouseReply>;
}

/** A {@link TaskBench} on one side of the ports. */
export function createTaskBench(ports: TaskPorts): TaskBench {
  const { store, leases, due } = ports;

  const bench: TaskBench = {
    ports,
    async create(changes) {
      const task = newTask(changes);
      const { snapshot, wakeUp } = created(await store.create(task));
      const { owner, taskId } = task;
      const ref = { tenantRef: tenantRefOf(owner.tenant), taskId };
      return { task, address: { owner, taskId }, ref, snapshot, wakeUp };
    },
    async read({ address }) {
      return found(await store.read(address));
    },
    async claim({ ref }) {
      const reply = await leases.claim(ref);
      if (reply.verdict !== "claimed") throw new Error(`Expected a claim, got "${reply.verdict}"`);
      return reply.task;
    },
    async createClaimed(changes) {
      const made = await bench.create(changes);
      const { claim } = await bench.claim(made);
      return { ...made, claim };
    },
    takeOver({ ref }) {
      return until(
        async () => {
          const reply = await leases.claim(ref);
          if (reply.verdict === "held") return undefined;
          if (reply.verdict !== "claimed") throw new Error(`Expected a claim, got "${reply.verdict}"`);
          return reply.task;
        },
        { what: "the lease to end" },
      );
    },
    async tryWrites({ address }, claim) {
      const trials: WriteTrial[] = [];
      for (const [name, write] of WORKER_WRITES)
        trials.push([name, await write(leases, claim), await store.read(address)]);
      return trials;
    },
    async createAsking(keys) {
      const made = await bench.createClaimed();
      const parked = await leases.park(made.claim, { requests: keys.map(requestOf), sleeps: [] });
      expect(parked).toEqual({ verdict: "parked" });
      return made;
    },
    async takeDue({ ref }) {
      await until(async () => (await due.take(100)).some(({ taskId }) => taskId === ref.taskId), {
        what: `task ${ref.taskId} to be due`,
      });
    },
    rouseWhenDue(made) {
      return until(
        async () => {
          await bench.takeDue(made);
          const reply = await due.rouse(made.ref);
          return reply.verdict === "later" ? undefined : reply;
        },
        { what: `task ${made.ref.taskId} to be roused` },
      );
    },
  };
  return bench;
}

/** The snapshot in a reply that must have one. */
export function found(reply: ReadReply): TaskSnapshot {
  if (reply.verdict !== "found") throw new Error(`Expected a task, got "${reply.verdict}"`);
  return reply.snapshot;
}

/** A request whose text tells its key, and has digits that must not change. */
export function requestOf(key: string): { key: string; request: string } {
  return {
    key,
    request: `{"method":"elicitation/create","params":{"message":${JSON.stringify(key)},"n":1.0}}`,
  };
}

/** Every write of a worker, as a function of its claim, with what a test may look for afterwards. */
export const WORKER_WRITES: readonly [
  string,
  (leases: TaskLeases, claim: Claim) => Promise<{ verdict: string }>,
][] = [
  ["heartbeat", (leases, claim) => leases.heartbeat(claim)],
  ["recordStep", (leases, claim) => leases.recordStep(claim, "stale", '"stale"')],
  ["progress", (leases, claim) => leases.progress(claim, "stale")],
  ["extend", (leases, claim) => leases.extend(claim, 86_400_000)],
  ["park on input", (leases, claim) => leases.park(claim, { requests: [requestOf("stale")], sleeps: [] })],
  [
    "park on time",
    (leases, claim) => leases.park(claim, { requests: [], sleeps: [{ name: "stale", durationMs: 1 }] }),
  ],
  ["release", (leases, claim) => leases.release(claim, { reason: "shutdown" })],
  [
    "release to retry",
    (leases, claim) =>
      leases.release(claim, { reason: "retry", failed: "stale", delayMs: 0, message: "stale" }),
  ],
  ["complete", (leases, claim) => leases.settle(claim, { status: "completed", result: '{"stale":true}' })],
  [
    "fail",
    (leases, claim) =>
      leases.settle(claim, {
        status: "failed",
        error: '{"code":-1,"message":"stale"}',
        statusMessage: "stale",
      }),
  ],
  ["cancel", (leases, claim) => leases.settle(claim, { status: "cancelled", statusMessage: "stale" })],
];
