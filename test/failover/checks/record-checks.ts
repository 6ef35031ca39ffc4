import { MOVES, isTerminal } from "@perdure/tasks";
import type { TaskStatus } from "@perdure/tasks";
import { type Change, type Check, changesOf, endOf, said } from "./evidence.ts";

/** What a worker's scripts write: each must come from the holder of the lease. */
const FENCED = new Set(["heartbeat", "record-step", "progress", "extend", "park", "release", "settle"]);

/** What may make a task runnable by a new wake-up. */
const isRunnable = ({ before }: Change): boolean =>
  before.queuedAt !== undefined && before.claim === undefined && before.endedBy === undefined;

function isLegalStep(from: TaskStatus | undefined, to: TaskStatus | undefined): boolean {
  if (from === to) return true;
  if (to === undefined) return from !== undefined && isTerminal(from);
  if (from === undefined) return to === MOVES.create.to;
  return Object.values(MOVES).some(
    (move) => move.to === to && (move.from as readonly TaskStatus[]).includes(from),
  );
}

/** What the audit alone tells. */
export const RECORD_CHECKS: readonly Check[] = [
  {
    promise: "I2",
    title: "only legal moves; a terminal task's bytes never change until it is removed",
    sides: ["audit"],
    look({ audit }, judge) {
      for (const [taskId, entries] of audit)
        for (const change of changesOf(entries)) {
          const { before, after } = change;
          judge.looked();
          if (!isLegalStep(before.status, after.status))
            judge.violated(`An illegal move: ${said(change)}`, taskId);
          else if (before.endedBy !== undefined && after.status !== undefined)
            judge.violated(`Bytes of a terminal task changed: ${said(change)}`, taskId);
        }
    },
  },
  {
    promise: "I3",
    title: "at most one terminal commit, by the holder of the lease; a stale write changes nothing",
    sides: ["audit"],
    look({ audit }, judge) {
      for (const [taskId, entries] of audit) {
        const changes = changesOf(entries);
        for (const change of changes.filter(({ script }) => FENCED.has(script))) {
          const { claim, epoch, before } = change;
          judge.looked();
          if (claim === before.claim && Number(epoch) === before.epoch) continue;
          judge.violated(
            `A write under claim ${claim}, epoch ${epoch}, while ${before.claim ?? "nobody"} held epoch ${before.epoch}: ${said(change)}`,
            taskId,
          );
        }
        const ends = changes.filter(
          ({ before, after }) =>
            after.status !== undefined &&
            isTerminal(after.status) &&
            before.bytes !== after.bytes &&
            !before.endedBy,
        );
        if (ends.length > 1) judge.violated(`It ended ${ends.length} times`, taskId);
      }
    },
  },
  {
    promise: "I4",
    title: "ver is one more at each change that readers see; epoch and lastUpdatedAt never go back",
    sides: ["audit"],
    look({ audit }, judge) {
      for (const [taskId, entries] of audit) {
        let last: Change | undefined;
        for (const change of changesOf(entries)) {
          const { before, after } = change;
          judge.looked();
          if (last && before.bytes !== last.after.bytes)
            judge.violated(`The record changed and no script told of it, before: ${said(change)}`, taskId);
          last = change;
          if (after.status === undefined) continue;
          const [from, to] = [before.ver ?? 0, after.ver ?? 0];
          const isSeen = before.shown !== after.shown || before.status === undefined;
          if (isSeen && to !== from + 1)
            judge.violated(`ver went from ${from} to ${to}: ${said(change)}`, taskId);
          if (!isSeen && to !== from && !isRepeat(change))
            judge.violated(`ver went from ${from} to ${to} and nothing changed: ${said(change)}`, taskId);
          const step = (after.epoch ?? 0) - (before.epoch ?? 0);
          if (step !== (change.script === "claim" ? 1 : 0))
            judge.violated(`epoch went from ${before.epoch} to ${after.epoch}: ${said(change)}`, taskId);
          if ((after.updatedAt ?? 0) < (before.updatedAt ?? 0))
            judge.violated(`lastUpdatedAt went back: ${said(change)}`, taskId);
        }
      }
    },
  },
  {
    promise: "I7",
    title: "an answer is applied at most once",
    sides: ["audit"],
    look({ audit }, judge) {
      for (const [taskId, entries] of audit) {
        const applied = new Set<string>();
        for (const { reply } of changesOf(entries).filter(({ script }) => script === "answer")) {
          const keys = Array.isArray(reply[1]) ? reply[1].map(String) : [];
          for (const key of keys) {
            judge.looked();
            if (applied.has(key)) judge.violated(`An answer to "${key}" was applied twice`, taskId);
            applied.add(key);
          }
        }
      }
    },
  },
  {
    promise: "I9",
    title: "a cancelled task is never claimed again",
    sides: ["audit"],
    look({ audit }, judge) {
      for (const [taskId, entries] of audit) {
        const end = endOf(entries);
        if (end?.after.status !== "cancelled") continue;
        judge.looked();
        for (const change of changesOf(entries.slice(entries.indexOf(end) + 1)))
          if (change.after.claim !== undefined)
            judge.violated(`It was claimed again: ${said(change)}`, taskId);
      }
    },
  },
  {
    promise: "I10",
    title: "an overdue task fails before it is removed, and nothing brings it back",
    sides: ["audit"],
    look({ audit }, judge) {
      for (const [taskId, entries] of audit) {
        const changes = changesOf(entries);
        const removal = changes.findIndex(({ before, after }) => before.status && !after.status);
        if (removal < 0) continue;
        judge.looked();
        const removed = changes[removal];
        if (removed?.before.status && !isTerminal(removed.before.status))
          judge.violated(`It was removed while it was ${removed.before.status}`, taskId);
        const back = changes.slice(removal + 1)[0];
        if (back) judge.violated(`Something was written after its removal: ${said(back)}`, taskId);
      }
    },
  },
  {
    promise: "I11",
    title: "a wake-up that is sent again keeps its number: a copy is no second run",
    sides: ["audit"],
    look({ audit }, judge) {
      for (const [taskId, entries] of audit)
        for (const change of changesOf(entries)) {
          if (!isRunnable(change)) continue;
          judge.looked();
          const { before, after } = change;
          if (after.status !== undefined && (after.wake ?? 0) !== before.wake)
            judge.violated(`A task that waited for its wake-up got another one: ${said(change)}`, taskId);
        }
    },
  },
  {
    promise: "I12",
    title: "a script that is sent again changes nothing",
    sides: ["audit"],
    look({ audit }, judge) {
      for (const [taskId, entries] of audit) {
        const done = new Map<string, Change | undefined>();
        for (const entry of entries) {
          const operation = operationOf(entry);
          if (operation === undefined) continue;
          const isAgain = done.has(operation);
          if (isAgain) judge.looked();
          const [change] = changesOf([entry]);
          if (isAgain && change && done.get(operation))
            judge.violated(`The same operation changed the record twice: ${said(change)}`, taskId);
          if (!isAgain || change) done.set(operation, change ?? done.get(operation));
        }
      }
    },
  },
];

/** The same progress said twice is a change of ver with the same text. */
function isRepeat({ script }: Change): boolean {
  return script === "progress" || script === "release";
}

/** What makes two runs of a script one operation. */
function operationOf({
  script,
  op,
  claim,
  name,
}: {
  script: string;
  op: string;
  claim: string;
  name: string;
}) {
  if (op !== "") return `${script} ${op}`;
  if (script === "claim") return `claim ${claim}`;
  if (script === "record-step") return `record-step ${name}`;
  if (script === "create") return "create";
  return undefined;
}
