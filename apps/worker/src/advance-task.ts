import type { ClaimedTask, WakeUp } from "@perdure/tasks";
import { runTool, type Catalog, type RunOutcome } from "@perdure/toolkit/host";
import type { Log, Tracing } from "@perdure/runtime";
import { commitOutcome, type CommitDeps } from "./commit-outcome.ts";
import { holdLease } from "./hold-lease.ts";
import { createProgressWriter } from "./progress-writer.ts";
import { createRunHost, type Leg } from "./run-host.ts";
import { startRunSpan } from "./run-span.ts";
import { parseStoredCall } from "./stored-call.ts";

/** What tasks are advanced with. */
export interface AdvanceDeps extends CommitDeps {
  readonly catalog: Catalog;
  readonly log: Log;
  readonly tracing: Tracing;
  /** How long a lease lasts, as the store gives it. */
  readonly leaseMs: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
  /** Aborted when this worker stops: every run gives its task back. */
  readonly shutdown: AbortSignal;
}

/**
 * Answers one wake-up: claims the task, runs its tool, and writes how the run ended. Never rejects: a store that is away
 * costs time, since the reconciler wakes a worker again, and a tool can only end its own task.
 */
export async function advanceTask(wakeUp: WakeUp, deps: AdvanceDeps): Promise<void> {
  const { leases, log, clock, metrics } = deps;
  const { taskId } = wakeUp.ref;
  metrics.taskWakeUps.inc();
  try {
    const askedAtMs = clock();
    const reply = await leases.claim(wakeUp.ref);
    if (reply.verdict === "claimed") {
      if (reply.tookOver) {
        metrics.leaseTakeovers.inc();
        log.warn({ taskId }, "A lease ended without a word from its worker; the task runs here");
      }
      await advance(reply.task, askedAtMs, deps);
    } else log.debug({ taskId, verdict: reply.verdict }, "A wake-up with nothing to do");
  } catch (error) {
    log.error({ taskId, err: error }, "A task could not be advanced; it will be looked at again");
  }
}

async function advance(task: ClaimedTask, claimedAtMs: number, deps: AdvanceDeps): Promise<void> {
  const { leases, metrics, clock, shutdown } = deps;
  const { claim } = task;
  const heldSinceMs = clock();
  const span = startRunSpan(deps.tracing, task);
  const log = deps.log.child({
    taskId: claim.ref.taskId,
    tool: task.tool,
    epoch: claim.epoch,
    ...span.ids,
  });
  const lease = holdLease({ ...deps, claim, claimedAtMs, log });
  const progress = createProgressWriter({
    write: (message) => leases.progress(claim, message),
    onFenced: (reply) => lease.fenced(reply),
    onError: (error) => log.warn({ err: error }, "Progress could not be written"),
  });
  const onShutdown = (): void => lease.stop("shutdown");
  lease.signal.addEventListener("abort", () => progress.end(), { once: true });
  let broken: string | undefined;
  const leg: Leg = {
    task,
    lease,
    progress,
    log,
    nowMs: () => task.nowMs + clock() - heldSinceMs,
    breakLimit: (message) => {
      broken ??= message;
    },
  };

  metrics.tasksRunning.inc();
  shutdown.addEventListener("abort", onShutdown);
  if (shutdown.aborted) onShutdown();
  log.info({ attempt: task.attempt }, "The task runs");
  try {
    const ended = await span.within(() => run(leg, deps));
    const outcome = broken === undefined ? ended : internalError(broken);
    span.ended(outcome);
    await commitOutcome(leg, outcome, deps);
  } finally {
    span.end();
    lease.end();
    progress.end();
    shutdown.removeEventListener("abort", onShutdown);
    metrics.tasksRunning.dec();
  }
}

async function run(leg: Leg, { catalog, leases }: AdvanceDeps): Promise<RunOutcome> {
  const { task, lease } = leg;
  if (lease.signal.aborted) return { kind: "stopped" };
  const tool = catalog.tools.get(task.tool);
  if (!tool) return unknownTool(leg);
  const call = parseStoredCall(task);
  if (!call) return internalError("The stored call cannot be read");
  try {
    return await runTool(tool, call.args, createRunHost(leg, call, leases));
  } catch (error) {
    return { ...internalError("The tool could not be run"), cause: error };
  }
}

const UNKNOWN_TOOL = "perdure:unknown-tool";
const UNKNOWN_TOOL_TRIES = 8;

/**
 * In a rolling deployment another worker may have the tool already: the task sleeps and is tried again, about two minutes
 * in all. It is no failure of the tool, so no attempt is counted: the sleeps in the journal tell the tries.
 */
function unknownTool({ task, progress }: Leg): RunOutcome {
  const tries = [...task.journal.sleeps.keys()].filter((name) => name.startsWith(UNKNOWN_TOOL)).length + 1;
  if (tries >= UNKNOWN_TOOL_TRIES) return internalError(`No worker has the tool "${task.tool}"`);
  progress.report(`Waiting for a worker that has the tool "${task.tool}"`);
  const durationMs = Math.min(2000 * 2 ** (tries - 1), 30_000);
  return { kind: "waiting", requests: [], sleeps: [{ name: `${UNKNOWN_TOOL}:${tries}`, durationMs }] };
}

function internalError(message: string) {
  return { kind: "failed", error: { code: -32_603, message } } as const;
}
