import type {
  Claim,
  ClaimedTask,
  Hint,
  JsonText,
  NewTask,
  Owner,
  TaskAddress,
  TaskRef,
  TaskSnapshot,
  WakeUp,
} from "./record.ts";
import type { TaskStatus } from "./status.ts";

/*
 * Every method is one atomic step. Expected outcomes are values with a `verdict`;
 * a store that cannot be reached or cannot write throws a `TaskStoreError`.
 *
 * "unknown" is said of an id that does not exist, is malformed, or is another owner's: one answer, at the same cost.
 * "expired" is said to the owner alone, while the tombstone of its task is kept.
 */

/** Said instead of a task. */
export type Absent = { readonly verdict: "unknown" } | { readonly verdict: "expired" };

/** A new task: it is durable by the store's class before the promise resolves. */
export interface Created {
  readonly verdict: "created";
  readonly snapshot: TaskSnapshot;
  readonly wakeUp: WakeUp;
}

/** What `create` says. Idempotency keys are a principal's own, and live as long as the task that was made under them. */
export type CreateReply =
  | Created
  /** The same was asked under the idempotency key before: its task, as it is now. */
  | { readonly verdict: "existing"; readonly snapshot: TaskSnapshot }
  /** Something else was asked under the idempotency key. */
  | { readonly verdict: "conflict" }
  /** The tenant has as many open tasks as it may. */
  | { readonly verdict: "limited"; readonly maxOpen: number };

/** What `read` says. */
export type ReadReply = { readonly verdict: "found"; readonly snapshot: TaskSnapshot } | Absent;

/** One response of a client to a request that a task has asked. */
export interface Answer {
  readonly key: string;
  readonly response: JsonText;
}

/**
 * What `answer` says. Keys that are not outstanding are ignored; the first answer to a key wins.
 * `wakeUp` is there when these answers made the task runnable.
 */
export type AnswerReply =
  | { readonly verdict: "accepted"; readonly applied: readonly string[]; readonly wakeUp?: WakeUp }
  | Absent;

/** What `cancel` says. A terminal task stays as it is. */
export type CancelReply =
  | { readonly verdict: "cancelled" }
  | { readonly verdict: "terminal"; readonly status: TaskStatus }
  | Absent;

/** The client's side of the record. Each method checks the owner inside the step. */
export interface TaskStore {
  create(task: NewTask): Promise<CreateReply>;
  read(address: TaskAddress): Promise<ReadReply>;
  answer(address: TaskAddress, answers: readonly Answer[]): Promise<AnswerReply>;
  /** `reason` becomes the status message. */
  cancel(address: TaskAddress, reason: string): Promise<CancelReply>;
}

/** Why a worker's write changed nothing. */
export type FencedReason = "cancelled" | "expired" | "settled" | "taken" | "gone";

/** A stale claim: the worker must stop at once and write nothing more. */
export interface Fenced {
  readonly verdict: "fenced";
  readonly reason: FencedReason;
}

/** What `claim` says. Anything but "claimed" means: nothing to do, drop the wake-up. */
export type ClaimReply =
  | {
      readonly verdict: "claimed";
      readonly task: ClaimedTask;
      /** The claim ended the lease of another worker, which had not said a word for as long as it lasts. */
      readonly tookOver: boolean;
    }
  /** The tenant has as many running tasks as it may. A wake-up comes again when one of them is over. */
  | { readonly verdict: "throttled" }
  | { readonly verdict: "held" }
  | { readonly verdict: "parked" }
  | { readonly verdict: "terminal" }
  | { readonly verdict: "overdue" }
  | { readonly verdict: "unknown" };

/** What a task waits for. */
export interface Parking {
  /** Requests asked in this run, outstanding or new, with their text (`{ method, params }`). */
  readonly requests: readonly { readonly key: string; readonly request: JsonText }[];
  /** Sleeps begun in this run. A name that is already recorded keeps its recorded end. */
  readonly sleeps: readonly { readonly name: string; readonly durationMs: number }[];
}

/** What `park` says. `wakeUp` is there when what it waits for has already come. */
export type ParkReply =
  | { readonly verdict: "parked"; readonly wakeUp?: WakeUp }
  | { readonly verdict: "conflict"; readonly key: string }
  | Fenced;

/** Why a worker gives a task back. */
export type Release =
  | { readonly reason: "shutdown" }
  | { readonly reason: "retry"; readonly failed: string; readonly delayMs: number; readonly message: string };

/** What `release` says. `wakeUp` is there when the task may run at once. */
export type ReleaseReply = { readonly verdict: "released"; readonly wakeUp?: WakeUp } | Fenced;

/** How a task ends by its worker. `error` and `result` are whole JSON texts. */
export type Settlement =
  | { readonly status: "completed"; readonly result: JsonText; readonly statusMessage?: string }
  | { readonly status: "failed"; readonly error: JsonText; readonly statusMessage: string }
  | { readonly status: "cancelled"; readonly statusMessage: string };

/** What a fenced write says. */
export type WriteReply = { readonly verdict: "done" } | Fenced;

/**
 * The worker's side of the record. Every write but `claim` is fenced by the claim.
 *
 *     claim ──► heartbeat … heartbeat ──► settle | park | release
 *               recordStep, progress, extend
 */
export interface TaskLeases {
  claim(ref: TaskRef): Promise<ClaimReply>;
  /** Moves the end of the lease to now + lease. */
  heartbeat(claim: Claim): Promise<WriteReply>;
  /** Durable before it resolves. The first record of a name wins. */
  recordStep(claim: Claim, name: string, value: JsonText): Promise<WriteReply>;
  /** Sets the status message. */
  progress(claim: Claim, message: string): Promise<WriteReply>;
  /** Raises the ttl so that at least `ms` are left from now; never lowers it. */
  extend(claim: Claim, ms: number): Promise<WriteReply>;
  park(claim: Claim, parking: Parking): Promise<ParkReply>;
  release(claim: Claim, release: Release): Promise<ReleaseReply>;
  settle(claim: Claim, settlement: Settlement): Promise<WriteReply>;
}

/** What `rouse` says of a task that was due. */
export type RouseReply =
  | { readonly verdict: "wake"; readonly wakeUp: WakeUp; readonly cause: "queued" | "lease-ended" | "timer" }
  | { readonly verdict: "overdue" }
  | { readonly verdict: "failed" }
  | { readonly verdict: "later" }
  | { readonly verdict: "gone" };

/** What `expire` says: an overdue task fails first, and is removed only after readers could see that. */
export type ExpireReply = { readonly verdict: "failed" | "removed" | "later" | "gone" };

/** The reconciler's side of the record. */
export interface DueTasks {
  /** Up to `limit` tasks that must be looked at now. A taken one is not given to another for a moment. */
  take(limit: number): Promise<readonly TaskRef[]>;
  /** Re-adds a wake-up, reaps a lease that has ended, fires a timer; fails a task that has killed too many workers. */
  rouse(ref: TaskRef): Promise<RouseReply>;
  /** Fails an overdue task; removes one whose keeping time is over, leaving a tombstone. */
  expire(ref: TaskRef): Promise<ExpireReply>;
}

/** How a wake-up is sent. */
export interface SendOptions {
  /** It was sent before, and nobody has followed it: what is left of that must not keep it from being sent. */
  readonly isAgain?: boolean;
}

/** Sends wake-ups to workers. Sending the same one twice is the same as once. */
export interface WakeUps {
  send(wakeUp: WakeUp, options?: SendOptions): Promise<void>;
}

/** Hands wake-ups to one worker process. */
export interface WakeUpConsumer {
  /** Calls `handle` for up to `concurrency` wake-ups at a time. `handle` must not throw. */
  start(handle: (wakeUp: WakeUp) => Promise<void>): Promise<void>;
  /** Takes no more wake-ups. Work in hand goes on. Idempotent. */
  pause(): Promise<void>;
  /** Waits for work in hand, at most `deadlineMs`; then drops the connection. Idempotent. */
  stop(deadlineMs: number): Promise<void>;
  /** True while wake-ups can arrive. */
  isAlive(): boolean;
}

/** Tells what changed, per tenant, over one connection for the whole process. */
export interface HintSource {
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Resolves once hints for the tenant will come; the function it gives ends that. */
  listen(tenantRef: string, onHint: (hint: Hint) => void): Promise<() => void>;
  /** Calls `onLoss` after every reconnect: hints may have been lost. Gives a function that ends that. */
  onReconnect(onLoss: () => void): () => void;
}

/** Which rate a request is over, and how long its sender should wait. */
export type RateVerdict =
  | { readonly verdict: "allowed" }
  | { readonly verdict: "limited"; readonly limit: "tenant" | "principal"; readonly retryAfterMs: number };

/** Bounds the requests of a tenant and of a principal over all replicas together. */
export interface RateLimits {
  /** Counts one request, unless it is over a limit. */
  take(owner: Owner): Promise<RateVerdict>;
}

/** What the store can say of its own state. */
export interface StoreHealth {
  /** The problems, each a sentence for an operator; none when the store is as configured. Answers within 2 s. */
  check(): Promise<readonly string[]>;
}
