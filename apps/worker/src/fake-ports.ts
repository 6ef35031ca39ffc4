import {
  mintNonce,
  mintTaskId,
  type Claim,
  type ClaimedTask,
  type ClaimReply,
  type DueTasks,
  type Parking,
  type ParkReply,
  type Release,
  type ReleaseReply,
  type Settlement,
  type TaskLeases,
  type TaskRef,
  type WakeUp,
  type WakeUpConsumer,
  type WakeUps,
  type WriteReply,
} from "@perdure/tasks";

/*
 * For tests of the worker's own logic: ports whose next replies a test can write down. What is not written down is done.
 */

type Scripted<Reply> = (() => Promise<Reply>)[];

/** Leases that record every call, and answer with what was scripted or else with success. */
export interface FakeLeases extends TaskLeases {
  /** Taken one by one, before the default. */
  readonly script: {
    readonly claim: Scripted<ClaimReply>;
    readonly heartbeat: Scripted<WriteReply>;
    readonly recordStep: Scripted<WriteReply>;
    readonly progress: Scripted<WriteReply>;
    readonly extend: Scripted<WriteReply>;
    readonly park: Scripted<ParkReply>;
    readonly release: Scripted<ReleaseReply>;
    readonly settle: Scripted<WriteReply>;
  };
  /** Names of the methods that were called, in order. */
  readonly calls: string[];
  readonly steps: Map<string, string>;
  readonly messages: string[];
  readonly settled: Settlement[];
  readonly parked: Parking[];
  readonly released: Release[];
}

const done = (): Promise<WriteReply> => Promise.resolve({ verdict: "done" });

/** Leases on the given task. */
export function createFakeLeases(task: ClaimedTask): FakeLeases {
  const script: FakeLeases["script"] = {
    claim: [],
    heartbeat: [],
    recordStep: [],
    progress: [],
    extend: [],
    park: [],
    release: [],
    settle: [],
  };
  const fake = {
    script,
    calls: new Array<string>(),
    steps: new Map<string, string>(),
    messages: new Array<string>(),
    settled: new Array<Settlement>(),
    parked: new Array<Parking>(),
    released: new Array<Release>(),
  };
  return {
    ...fake,
    claim() {
      fake.calls.push("claim");
      return script.claim.shift()?.() ?? Promise.resolve({ verdict: "claimed", task, tookOver: false });
    },
    heartbeat() {
      fake.calls.push("heartbeat");
      return script.heartbeat.shift()?.() ?? done();
    },
    recordStep(_claim: Claim, name, value) {
      fake.calls.push("recordStep");
      const scripted = script.recordStep.shift();
      if (scripted) return scripted();
      fake.steps.set(name, value);
      return done();
    },
    progress(_claim: Claim, message) {
      fake.calls.push("progress");
      fake.messages.push(message);
      return script.progress.shift()?.() ?? done();
    },
    extend() {
      fake.calls.push("extend");
      return script.extend.shift()?.() ?? done();
    },
    park(_claim: Claim, parking) {
      fake.calls.push("park");
      fake.parked.push(parking);
      return script.park.shift()?.() ?? Promise.resolve({ verdict: "parked" });
    },
    release(_claim: Claim, release) {
      fake.calls.push("release");
      fake.released.push(release);
      return script.release.shift()?.() ?? Promise.resolve({ verdict: "released" });
    },
    settle(_claim: Claim, settlement) {
      fake.calls.push("settle");
      fake.settled.push(settlement);
      return script.settle.shift()?.() ?? done();
    },
  };
}

/** A task as a claim gives it. */
export function makeClaimedTask(task: Partial<ClaimedTask> = {}): ClaimedTask {
  const ref: TaskRef = { tenantRef: "a".repeat(22), taskId: mintTaskId() };
  return {
    claim: { ref, claimId: mintNonce(), epoch: 1 },
    owner: { tenant: "acme", principal: "alice" },
    scopes: [],
    method: "tools/call",
    params: JSON.stringify({ name: "tool", arguments: {} }),
    tool: "tool",
    capabilities: "{}",
    attempt: 1,
    journal: {
      steps: new Map(),
      requests: new Map(),
      answers: new Map(),
      sleeps: new Map(),
      failures: new Map(),
    },
    nowMs: 1_000_000,
    expiresAtMs: 1_900_000,
    ...task,
  };
}

/** A wake-up for a task. */
export function wakeUpFor({ claim }: ClaimedTask, wake = 1): WakeUp {
  return { ref: claim.ref, wake, epoch: claim.epoch };
}

/** Wake-ups that are kept, or refused with `error`. */
export function createFakeWakeUps(error?: Error): WakeUps & { readonly sent: WakeUp[] } {
  const sent: WakeUp[] = [];
  return {
    sent,
    async send(wakeUp) {
      sent.push(wakeUp);
      if (error) throw error;
    },
  };
}

/** A queue that a test hands wake-ups to. */
export interface FakeConsumer extends WakeUpConsumer {
  /** Resolves when the worker is done with the wake-up. */
  deliver(wakeUp: WakeUp): Promise<void>;
  readonly events: string[];
}

export function createFakeConsumer(): FakeConsumer {
  const events: string[] = [];
  const work = new Set<Promise<void>>();
  let handle: ((wakeUp: WakeUp) => Promise<void>) | undefined;
  return {
    events,
    async start(handler) {
      events.push("start");
      handle = handler;
    },
    async pause() {
      events.push("pause");
    },
    async stop() {
      await Promise.all(work);
      events.push("stop");
    },
    isAlive: () => handle !== undefined,
    async deliver(wakeUp) {
      if (!handle) throw new Error("The worker has not started");
      const working = handle(wakeUp);
      work.add(working);
      await working;
    },
  };
}

/** Nothing is ever due, unless a test overrides a method. */
export function createFakeDue(due: Partial<DueTasks> = {}): DueTasks {
  return {
    take: () => Promise.resolve([]),
    rouse: () => Promise.resolve({ verdict: "later" }),
    expire: () => Promise.resolve({ verdict: "later" }),
    ...due,
  };
}
