import { isTerminal } from "@perdure/tasks";
import type { AuditEntry } from "./audit.ts";
import type { FaultWindow } from "./faults.ts";

/** From the moment when a task could be claimed to the moment when it was. Times in milliseconds since the epoch. */
export interface ClaimWait {
  readonly taskId: string;
  readonly since: number;
  /** Undefined when it never was. */
  readonly until: number | undefined;
  /** What made it claimable: the script and what it said, or the end of a lease or of a time. */
  readonly cause: string;
}

/** All waits of a task, out of its audit. A wait that ended with the task is none. */
export function claimWaits(
  taskId: string,
  entries: readonly AuditEntry[],
  now: number,
): readonly ClaimWait[] {
  const waits: ClaimWait[] = [];
  let open: { readonly since: number; readonly cause: string } | undefined;
  let dormant: { readonly since: number; readonly cause: string } | undefined;

  for (const { at, script, reply, before, after } of entries) {
    if (!after) continue;
    // A lease or a time that ended on its way here made the task claimable before this entry came.
    if (!open && dormant && dormant.since < at && script !== "heartbeat") open = dormant;
    if (after.status === undefined || isTerminal(after.status)) {
      open = undefined;
      dormant = undefined;
    } else if (script === "claim") {
      const since = before.claim === undefined ? open?.since : before.leaseEnd;
      if (since !== undefined) waits.push({ taskId, since, until: at, cause: open?.cause ?? "lease over" });
      open = undefined;
      dormant = { since: after.leaseEnd ?? at, cause: "lease over" };
    } else if (after.claim !== undefined) {
      dormant = { since: after.leaseEnd ?? at, cause: "lease over" };
      if (script === "heartbeat") open = undefined;
    } else if (after.queuedAt !== undefined) {
      open ??= { since: at, cause: `${script}: ${String(reply[0])}` };
      dormant = undefined;
    } else {
      open = undefined;
      dormant = after.wakeAt === undefined ? undefined : { since: after.wakeAt, cause: "time over" };
    }
  }
  if (!open && dormant && dormant.since < now) open = dormant;
  if (open) waits.push({ taskId, since: open.since, until: undefined, cause: open.cause });
  return waits;
}

/** A wait without the faults that fell into it: what was left of it after the last one. */
export interface MeasuredWait extends ClaimWait {
  readonly ms: number;
  /** No fault fell into it. */
  readonly isCalm: boolean;
}

/** Measures each wait that ended; one that has not counts until now. */
export function measureWaits(
  waits: readonly ClaimWait[],
  faults: readonly FaultWindow[],
  now: number,
): readonly MeasuredWait[] {
  return waits.map((wait) => {
    const until = wait.until ?? now;
    const within = faults.filter(({ from, to }) => from <= until && to >= wait.since);
    const lastMended = Math.max(wait.since, ...within.map(({ to }) => Math.min(to, until)));
    return { ...wait, ms: until - lastMended, isCalm: within.length === 0 };
  });
}

/** The value below which that share of the values lies; 0 when there is none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
}
