import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject, JsonValue } from "@perdure/protocol";
import { runTool } from "@perdure/toolkit/host";
import type { RunHost, RunOutcome, Tool } from "@perdure/toolkit/host";
import type { Call } from "../methods/method.ts";
import type { CallJournal } from "./call-journal.ts";
import type { SayLog, SayProgress } from "./said-meanwhile.ts";

/** A tool's run in the replica, in the call. */
export interface ReplicaRun {
  readonly tool: Tool;
  readonly args: JsonObject;
  readonly call: Call;
  readonly callId: string;
  readonly prepared: JsonValue;
  /** What is done is put in. */
  readonly journal: CallJournal;
  readonly signal: AbortSignal;
  readonly nowMs: () => number;
  readonly sayProgress: SayProgress;
  readonly sayLog: SayLog;
}

/** Runs the tool until it ends, waits for input or is stopped. Failures are tried again by the tool's policy, in place. */
export async function runInReplica(run: ReplicaRun): Promise<Exclude<RunOutcome, { kind: "retry" }>> {
  const { tool, args, journal, signal } = run;
  for (;;) {
    const outcome = await runTool(tool, args, hostOf(run));
    if (outcome.kind !== "retry") return outcome;
    journal.failures.set(outcome.failed, (journal.failures.get(outcome.failed) ?? 0) + 1);
    if (!(await waited(outcome.delayMs, signal))) return { kind: "stopped" };
  }
}

function hostOf({
  tool,
  call,
  callId,
  prepared,
  journal,
  signal,
  nowMs,
  sayProgress,
  sayLog,
}: ReplicaRun): RunHost {
  const { tenant, principal, scopes } = call.identity;
  return {
    id: callId,
    caller: { tenant, principal, scopes },
    attempt: 1 + [...journal.failures.values()].reduce((sum, failures) => sum + failures, 0),
    signal,
    capabilities: call.meta.capabilities,
    prepared: tool.prepare ? prepared : undefined,
    journal,
    nowMs,
    recordStep: async (name, record) => void journal.steps.set(name, record),
    progress: sayProgress,
    extend: async () => {},
    log: sayLog,
    sleepInPlace: (ms, until) => delay(ms, undefined, { signal: until }),
  };
}

async function waited(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await delay(ms, undefined, { signal });
    return true;
  } catch {
    return false;
  }
}
