import type { Owner } from "@perdure/tasks";

/** Slows down clients that poll a task faster than they were asked to, and refuses them only when they are far beyond that. */
export interface PollPacer {
  /** Counts one poll. Gives the interval to tell the client, or how long it must stay away; milliseconds. */
  pace(poll: Poll): Paced;
}

/** One `tasks/get`. */
export interface Poll {
  readonly owner: Owner;
  readonly taskId: string;
  /** What the task's record asks for. */
  readonly pollIntervalMs: number;
}

/** What {@link PollPacer} says. */
export type Paced =
  | { readonly verdict: "served"; readonly pollIntervalMs: number }
  | { readonly verdict: "refused"; readonly retryAfterMs: number };

/** Polls that may come at once before the interval grows: after a reconnect, or when two clients share a task. */
const FREE_POLLS = 3;
/** So many polls ahead of its time a client no longer listens to what it is told. */
const ABUSIVE_POLLS = 600;
const LONGEST_INTERVAL_MS = 30_000;
const REMEMBERED_TASKS = 10_000;

/**
 * Each poll pays for one interval; whoever polls in time never owes. The interval told grows with the debt, so a client
 * that keeps to it is even again. In memory of this replica, bounded: a replica sees its share of the polls, and a limit
 * that holds over all of them is the request rate's.
 */
export function createPollPacer(nowMs: () => number): PollPacer {
  /** The time up to which the task's polls are paid for; the least recently polled task is first. */
  const paidUntil = new Map<string, number>();

  return {
    pace({ owner, taskId, pollIntervalMs }) {
      const key = JSON.stringify([owner.tenant, owner.principal, taskId]);
      const now = nowMs();
      const before = Math.max(paidUntil.get(key) ?? 0, now);
      const aheadMs = before - now;
      if (aheadMs > ABUSIVE_POLLS * pollIntervalMs) {
        return { verdict: "refused", retryAfterMs: Math.min(aheadMs, LONGEST_INTERVAL_MS) };
      }
      paidUntil.delete(key);
      paidUntil.set(key, before + pollIntervalMs);
      if (paidUntil.size > REMEMBERED_TASKS) dropOldest(paidUntil);
      const debtMs = aheadMs - FREE_POLLS * pollIntervalMs;
      const slowerMs = Math.min(Math.max(debtMs, 0), Math.max(LONGEST_INTERVAL_MS - pollIntervalMs, 0));
      return { verdict: "served", pollIntervalMs: pollIntervalMs + Math.ceil(slowerMs) };
    },
  };
}

function dropOldest(map: Map<string, number>): void {
  for (const key of map.keys()) {
    map.delete(key);
    return;
  }
}
