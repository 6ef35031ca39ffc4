import type { Log } from "@perdure/runtime";
import type { ClaimedTask, TaskLeases } from "@perdure/tasks";
import type { LogLevel } from "@perdure/toolkit";
import type { RunHost } from "@perdure/toolkit/host";
import type { HeldLease } from "./hold-lease.ts";
import type { ProgressWriter } from "./progress-writer.ts";
import type { StoredCall } from "./stored-call.ts";

/** A claimed task with all that one run of it needs. */
export interface Leg {
  readonly task: ClaimedTask;
  readonly lease: HeldLease;
  readonly progress: ProgressWriter;
  readonly log: Log;
  /** The clock of Redis, as far as this process can tell: never ahead of it. */
  readonly nowMs: () => number;
  /** Makes the task fail with the message, once the run has ended. */
  readonly breakLimit: (message: string) => void;
}

const MAX_STEP_BYTES = 262_144;

const LEVELS = {
  debug: "debug",
  info: "info",
  notice: "info",
  warning: "warn",
  error: "error",
  critical: "error",
  alert: "error",
  emergency: "error",
} as const satisfies Record<LogLevel, keyof Log>;

/** What a tool runs on in a worker: every write goes through the lease, and none once the run must stop. */
export function createRunHost(leg: Leg, call: StoredCall, leases: TaskLeases): RunHost {
  const { task, lease, progress, log, nowMs, breakLimit } = leg;
  const { claim } = task;
  return {
    id: claim.ref.taskId,
    caller: { ...task.owner, scopes: task.scopes },
    attempt: task.attempt,
    signal: lease.signal,
    capabilities: call.capabilities,
    prepared: call.prepared,
    journal: task.journal,
    nowMs,
    async recordStep(name, record) {
      const bytes = Buffer.byteLength(record);
      if (bytes > MAX_STEP_BYTES) {
        const message = `The value of step "${name}" has ${bytes} bytes; the limit is ${MAX_STEP_BYTES}`;
        breakLimit(message);
        throw new Error(message);
      }
      await lease.write(() => leases.recordStep(claim, name, record));
    },
    progress: (message) => progress.report(message),
    extend: (ms) => lease.write(() => leases.extend(claim, ms)),
    log: (level, message, data) => log[LEVELS[level]](data === undefined ? {} : { data }, message),
  };
}
