import type { Log, Metrics } from "@perdure/runtime";
import type {
  Fenced,
  ParkReply,
  ReleaseReply,
  Settlement,
  TaskLeases,
  WakeUp,
  WakeUps,
  WriteReply,
} from "@perdure/tasks";
import type { RunOutcome } from "@perdure/toolkit/host";
import {
  presentCancelled,
  presentError,
  presentInternalError,
  presentResult,
  type PresentResultOptions,
} from "./present-outcome.ts";
import { retryStore } from "./retry-store.ts";
import type { Leg } from "./run-host.ts";

/** What outcomes are written with. */
export interface CommitDeps extends PresentResultOptions {
  readonly leases: TaskLeases;
  readonly wakeUps: WakeUps;
  readonly metrics: Metrics;
}

/**
 * Writes how a run ended: settle, park or release; nothing when the task is no longer ours. A store that is away is asked
 * again as long as the lease is believed.
 */
export async function commitOutcome(leg: Leg, outcome: RunOutcome, deps: CommitDeps): Promise<void> {
  await leg.progress.flush();
  const reason = leg.lease.stopReason();
  if (reason !== undefined && reason !== "shutdown") return;
  switch (outcome.kind) {
    case "completed":
      return settle(leg, presentResult(outcome.result, deps), deps);
    case "failed":
      logCause(leg.log, outcome.error.message, outcome.cause);
      return settle(leg, presentError(outcome.error), deps);
    case "cancelled":
      return settle(leg, presentCancelled(outcome.reason), deps);
    case "retry":
      return retry(leg, outcome, deps);
    case "waiting":
      return park(leg, outcome, deps);
    case "stopped":
      if (reason === "shutdown") return release(leg, deps);
      if (reason === undefined) leg.log.error({}, "The run stopped because a record of it could not be kept");
      return undefined;
  }
}

/** Ends a task. */
async function settle(leg: Leg, settlement: Settlement, deps: CommitDeps): Promise<void> {
  const { claim } = leg.task;
  const reply = await send(leg, () => deps.leases.settle(claim, settlement));
  if (reply.verdict === "fenced") return;
  deps.metrics.taskTransitions.inc({ to: settlement.status });
  leg.log.info({ status: settlement.status }, "The task ended");
}

type Outcome<Kind extends RunOutcome["kind"]> = Extract<RunOutcome, { kind: Kind }>;

/** Gives a task back to be tried again later. */
async function retry(leg: Leg, outcome: Outcome<"retry">, deps: CommitDeps): Promise<void> {
  const { failed, delayMs, message } = outcome;
  leg.log.warn({ failed, delayMs, err: outcome.cause }, "The tool failed and will be tried again");
  const { claim } = leg.task;
  const reply = await send(leg, () =>
    deps.leases.release(claim, { reason: "retry", failed, delayMs: Math.round(delayMs), message }),
  );
  await wake(leg, reply, deps);
}

async function park(leg: Leg, { requests, sleeps }: Outcome<"waiting">, deps: CommitDeps): Promise<void> {
  const { claim } = leg.task;
  const reply = await send(leg, () => deps.leases.park(claim, { requests, sleeps }));
  if (reply.verdict === "conflict") {
    const said = `The input "${reply.key}" was asked for before with a different request: a key means one request for a task's whole life`;
    return settle(leg, presentInternalError(said), deps);
  }
  if (reply.verdict === "parked") {
    if (requests.length > 0 && !reply.wakeUp) deps.metrics.taskTransitions.inc({ to: "input_required" });
    leg.log.info({ inputs: requests.map(({ key }) => key), sleeps: sleeps.length }, "The task waits");
  }
  return wake(leg, reply, deps);
}

async function release(leg: Leg, deps: CommitDeps): Promise<void> {
  const { claim } = leg.task;
  const reply = await send(leg, () => deps.leases.release(claim, { reason: "shutdown" }));
  if (reply.verdict === "released") leg.log.info({}, "The task was given back: this worker is stopping");
  await wake(leg, reply, deps);
}

/**
 * Sends the last write of a run. When its first reply was lost, a second one is refused if the first was carried out;
 * if it was not, the task is another's. Either way there is nothing left to do.
 */
async function send<Reply extends WriteReply | ParkReply | ReleaseReply>(
  leg: Leg,
  write: () => Promise<Reply | Fenced>,
): Promise<Reply | Fenced> {
  const { reply, retried } = await retryStore(write, () => leg.lease.isBelieved());
  leg.lease.end();
  if (reply.verdict === "fenced") {
    if (retried)
      leg.log.info(
        { reason: reply.reason },
        "The write was done before its reply was lost, or came too late",
      );
    else leg.lease.fenced(reply);
  }
  return reply;
}

/** A wake-up that cannot be sent is only late: the reconciler sends it again. */
async function wake(leg: Leg, reply: { readonly wakeUp?: WakeUp } | Fenced, deps: CommitDeps): Promise<void> {
  if (!("wakeUp" in reply) || reply.wakeUp === undefined) return;
  try {
    await deps.wakeUps.send(reply.wakeUp);
  } catch (error) {
    leg.log.warn({ err: error }, "A wake-up could not be sent; the reconciler will send it");
  }
}

function logCause(log: Log, message: string, cause: unknown): void {
  log.warn(cause === undefined ? { error: message } : { error: message, err: cause }, "The tool failed");
}
