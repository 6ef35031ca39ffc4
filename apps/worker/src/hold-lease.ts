import type { Log, Metrics } from "@perdure/runtime";
import type { Claim, Fenced, TaskLeases, WriteReply } from "@perdure/tasks";
import { retryStore } from "./retry-store.ts";
import { stopReasonOf, TaskStopped, type StopReason } from "./task-stopped.ts";

/** What a lease is held with. */
export interface HoldLeaseDeps {
  readonly leases: TaskLeases;
  readonly claim: Claim;
  readonly leaseMs: number;
  /** When the claim was sent, by `clock`: the lease began no earlier. */
  readonly claimedAtMs: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  readonly log: Log;
  readonly metrics: Metrics;
}

/** A lease in this worker's hands. */
export interface HeldLease {
  /** Aborted with a {@link TaskStopped} when the run must stop. */
  readonly signal: AbortSignal;
  /** Why the run must stop. The first reason stays, but for the loss of the task, which is final. */
  stopReason(): StopReason | undefined;
  /** Aborts the signal. After anything but `shutdown` the task is no longer ours: heartbeats end too. */
  stop(reason: StopReason): void;
  /** False once the task is known to be lost, or no heartbeat was confirmed for 0.8 of the lease. */
  isBelieved(): boolean;
  /**
   * A write of the run (a step, an extension): sent again while the store is away and the lease is believed.
   * Rejects when it was refused or could not be sent; the signal is aborted then.
   */
  write(send: () => Promise<WriteReply>): Promise<void>;
  /** Counts a refused write and stops the run for it. */
  fenced(reply: Fenced): void;
  /** Ends the heartbeats. The lease itself ends by settle, park or release, or runs out. */
  end(): void;
}

const BEAT = 1 / 3;
const BELIEF = 0.8;

/**
 * Keeps a lease by heartbeats, and bounds how long this worker believes in it.
 *
 *     asked ── ⅓ ── beat ── ⅓ ── beat ──╳──╳──────── 0.8 after the last confirmed ask: stop
 *     └───────────────── lease ─────────────────┘    1.0: another worker may claim
 *
 * Belief counts from the moment a heartbeat was *sent*, so that this worker stops before Redis lets another begin, however
 * long the reply took. It needs no common clock: a process that was frozen finds its belief gone when it wakes.
 */
export function holdLease({
  leases,
  claim,
  leaseMs,
  claimedAtMs,
  clock,
  log,
  metrics,
}: HoldLeaseDeps): HeldLease {
  const controller = new AbortController();
  let reason: StopReason | undefined;
  let confirmedAtMs = claimedAtMs;
  let nextBeatAtMs = claimedAtMs + leaseMs * BEAT;
  let isBeating = false;
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;

  const beliefEndsAtMs = (): number => confirmedAtMs + leaseMs * BELIEF;
  const isBelieved = (): boolean => !isLost(reason) && clock() < beliefEndsAtMs();

  const end = (): void => {
    isOver = true;
    clearTimeout(timer);
  };

  const stop = (why: StopReason): void => {
    if (isLost(reason)) return;
    if (reason === undefined || isLost(why)) reason = why;
    if (isLost(why)) end();
    controller.abort(new TaskStopped(why));
  };

  const fenced = (reply: Fenced): void => {
    metrics.fencedWrites.inc({ reason: reply.reason });
    log.info({ reason: reply.reason }, "The task is no longer this worker's");
    stop(stopReasonOf(reply.reason));
  };

  const schedule = (): void => {
    clearTimeout(timer);
    if (isOver) return;
    const at = isBeating ? beliefEndsAtMs() : Math.min(nextBeatAtMs, beliefEndsAtMs());
    timer = setTimeout(tick, Math.max(1, at - clock()));
  };

  const tick = (): void => {
    if (clock() >= beliefEndsAtMs()) {
      log.warn({ leaseMs }, "No heartbeat was confirmed for too long: the run stops");
      stop("lease lost");
      return;
    }
    if (!isBeating && clock() >= nextBeatAtMs) void beat();
    schedule();
  };

  const beat = async (): Promise<void> => {
    isBeating = true;
    const askedAtMs = clock();
    try {
      const reply = await leases.heartbeat(claim);
      if (isOver) return;
      if (reply.verdict === "fenced") {
        fenced(reply);
        return;
      }
      confirmedAtMs = askedAtMs;
      nextBeatAtMs = askedAtMs + leaseMs * BEAT;
    } catch (error) {
      log.warn({ err: error }, "A heartbeat failed");
      nextBeatAtMs = clock() + leaseMs / 20;
    } finally {
      isBeating = false;
      schedule();
    }
  };

  const sendWhileBelieved = async (send: () => Promise<WriteReply>): Promise<WriteReply> => {
    try {
      return (await retryStore(send, () => !controller.signal.aborted && isBelieved())).reply;
    } catch (error) {
      if (!controller.signal.aborted) log.error({ err: error }, "A write of the run failed");
      throw error;
    }
  };

  schedule();
  return {
    signal: controller.signal,
    stopReason: () => reason,
    stop,
    isBelieved,
    async write(send) {
      controller.signal.throwIfAborted();
      const reply = await sendWhileBelieved(send);
      if (reply.verdict === "fenced") fenced(reply);
      controller.signal.throwIfAborted();
    },
    fenced,
    end,
  };
}

function isLost(reason: StopReason | undefined): boolean {
  return reason !== undefined && reason !== "shutdown";
}
