import { isTerminal } from "@perdure/tasks";
import type { AuditEntry } from "../audit.ts";
import type { FaultWindow } from "../faults.ts";
import type { History } from "../history.ts";
import type { Freeze } from "../stage.ts";
import type { ToolLine } from "../tool-line.ts";

/** All that is known after a run. Times in milliseconds since the epoch; the machine has one clock. */
export interface Evidence {
  /** By task, in the order in which Redis did it. */
  readonly audit: ReadonlyMap<string, readonly AuditEntry[]>;
  readonly histories: readonly History[];
  /** What the tools did, by task. */
  readonly tools: ReadonlyMap<string, readonly ToolLine[]>;
  readonly faults: readonly FaultWindow[];
  readonly freezes: readonly Freeze[];
  readonly leaseMs: number;
  readonly rest: Rest | undefined;
  readonly strangers: Strangers;
  /** When the last look was taken. */
  readonly endedAt: number;
}

/** What lay in BullMQ while tasks were parked and nothing else was to do. */
export interface Rest {
  /** Ids of the tasks that were parked. */
  readonly parked: readonly string[];
  /** The jobs that were there. */
  readonly jobs: readonly LeftJob[];
  /** A task that was created meanwhile. */
  readonly freshTaskId: string;
  /** What kept it from being looked at. */
  readonly problem?: string;
}

/** A job of BullMQ that ought not to be there. */
export interface LeftJob {
  readonly id: string;
  /** In which of BullMQ's lists; none when only the job itself is left. */
  readonly lists: readonly string[];
}

/** Answers to strangers who asked for tasks of others, and for tasks that nobody has. */
export interface Strangers {
  readonly toOthers: readonly string[];
  readonly toNobody: readonly string[];
}

/** A promise of `promises.md` that these runs look at. */
export type PromiseId = `I${number}`;

/** A promise that was not kept. */
export interface Violation {
  readonly promise: PromiseId;
  readonly said: string;
  readonly taskId?: string;
}

/** One look at the evidence for one promise. */
export interface Check {
  readonly promise: PromiseId;
  /** What is promised, in words. */
  readonly title: string;
  /** Who saw it. */
  readonly sides: readonly ("audit" | "clients" | "tools" | "queue")[];
  readonly look: (evidence: Evidence, judge: Judge) => void;
}

/** Where a check tells what it found. */
export interface Judge {
  /** So many things were as they must be, or not. */
  looked(count?: number): void;
  violated(said: string, taskId?: string): void;
}

/** One entry that changed the record, with both states at hand. */
export interface Change extends AuditEntry {
  readonly after: NonNullable<AuditEntry["after"]>;
}

/** The entries of a task that changed something. */
export function changesOf(entries: readonly AuditEntry[]): readonly Change[] {
  return entries.filter((entry): entry is Change => entry.after !== undefined);
}

/** The change that ended the task, if there is one. */
export function endOf(entries: readonly AuditEntry[]): Change | undefined {
  return changesOf(entries).find(
    ({ before, after }) =>
      after.status !== undefined && isTerminal(after.status) && !(before.status && isTerminal(before.status)),
  );
}

/** A change in words. */
export function said({ script, reply, before, after }: AuditEntry): string {
  const state = (s: AuditEntry["before"] | undefined): string =>
    s === undefined ? "the same" : s.isTombstone ? "tombstone" : `${s.status ?? "nothing"} v${s.ver ?? 0}`;
  return `${script} → ${String(reply[0])}: ${state(before)} → ${state(after)}`;
}
