import { isTerminal } from "@perdure/tasks";
import type { AuditEntry } from "../audit.ts";
import type { ClientEvent, History, SeenTask } from "../history.ts";
import { echoOf, wrongEnd } from "../outcomes.ts";
import { type Check, changesOf, endOf } from "./evidence.ts";

type Seen = ClientEvent & { readonly seen: SeenTask };

const seenIn = (history: History): readonly Seen[] =>
  history.events.filter((event): event is Seen => event.seen !== undefined);
const readsOf = (history: History): readonly Seen[] => seenIn(history).filter(({ what }) => what === "get");
/** In words, for a report. */
const shown = ({ what, via, seen }: Seen): string =>
  `${what} via ${via}: ${seen.status} of ${seen.updatedAt}`;

/** Which versions it can have been that a reader saw, first and last; undefined when there was none such. */
function versionsOf(
  entries: readonly AuditEntry[],
  seen: SeenTask,
): { least: number; most: number } | undefined {
  const versions = changesOf(entries)
    .filter(({ after }) => after.status === seen.status && after.updatedAt === seen.updatedAt)
    .map(({ after }) => after.ver ?? 0);
  return versions.length === 0 ? undefined : { least: Math.min(...versions), most: Math.max(...versions) };
}

/** What clients saw, held against what the audit tells. */
export const CLIENT_CHECKS: readonly Check[] = [
  {
    promise: "I1",
    title: "a task whose id was sent can be read from then on, from any replica",
    sides: ["clients", "audit"],
    look({ audit, histories }, judge) {
      for (const { taskId, createdAt = 0, events } of histories) {
        if (taskId === undefined) continue;
        const entries = audit.get(taskId) ?? [];
        judge.looked();
        if (!entries.some(({ script, after }) => script === "create" && after))
          judge.violated("Its id was sent, and no record was ever made", taskId);
        const removal = changesOf(entries).find(({ before, after }) => before.status && !after.status);
        for (const event of events) {
          if (event.verdict !== "refused" || event.sentAt < createdAt) continue;
          const hasGone = removal !== undefined && removal.at <= event.at;
          const isExpired = event.error?.message === "Task has expired";
          if (!(hasGone && isExpired))
            judge.violated(`${event.what} via ${event.via} was refused: ${event.error?.message}`, taskId);
        }
      }
      for (const { taskId, events, scene } of histories)
        if (taskId === undefined)
          for (const event of events)
            if (event.verdict === "refused")
              judge.violated(
                `${event.what} of ${scene.kind} via ${event.via} was refused: ${event.error?.message}`,
              );
    },
  },
  {
    promise: "I2",
    title: "readers see the same bytes of a terminal task from the first time to the last",
    sides: ["clients"],
    look({ histories }, judge) {
      for (const history of histories) {
        const ends = readsOf(history).filter(({ seen }) => isTerminal(seen.status));
        judge.looked(ends.length);
        const other = ends.find(({ seen }) => seen.bytes !== ends[0]?.seen.bytes);
        if (other && ends[0])
          judge.violated(`Two ends were read: ${shown(ends[0])}; ${shown(other)}`, history.taskId);
      }
    },
  },
  {
    promise: "I5",
    title: "no reader, on any replica or stream, sees a task go back",
    sides: ["clients", "audit"],
    look({ histories, audit }, judge) {
      for (const history of histories) {
        const entries = audit.get(history.taskId ?? "") ?? [];
        const versions = new Map<Seen, { least: number; most: number }>();
        for (const event of seenIn(history)) {
          judge.looked();
          const found = versionsOf(entries, event.seen);
          if (found) versions.set(event, found);
          else judge.violated(`What was never there was seen: ${shown(event)}`, history.taskId);
        }
        const goesBack = (before: Seen, after: Seen): boolean =>
          (versions.get(after)?.most ?? Infinity) < (versions.get(before)?.least ?? -1);
        const tell = (before: Seen, after: Seen): void =>
          judge.violated(`It went back: ${shown(before)}, then ${shown(after)}`, history.taskId);

        // A read that began after another one had ended cannot see less, wherever it was made.
        const reads = readsOf(history);
        for (const after of reads)
          for (const before of reads)
            if (before.at < after.sentAt && goesBack(before, after)) tell(before, after);
        // Frames of one stream come in order; an end is the end.
        const frames = seenIn(history).filter(({ what }) => what === "frame");
        for (const [at, after] of frames.entries()) {
          const before = frames.slice(0, at).findLast(({ stream }) => stream === after.stream);
          if (before && goesBack(before, after)) tell(before, after);
        }
      }
    },
  },
  {
    promise: "I6",
    title:
      "an input key means the same request for a task's whole life, and is never asked again once answered",
    sides: ["clients"],
    look({ histories }, judge) {
      for (const history of histories) {
        const requests = new Map<string, string>();
        const answered = new Map<string, number>();
        for (const { what, verdict, answers = {}, at } of history.events)
          if (what === "update" && verdict === "ok")
            for (const key of Object.keys(answers))
              answered.set(key, Math.min(at, answered.get(key) ?? Infinity));
        for (const event of seenIn(history))
          for (const [key, request] of Object.entries(event.seen.inputs)) {
            judge.looked();
            const before = requests.get(key);
            if (before !== undefined && before !== request)
              judge.violated(`"${key}" was asked as ${before} and as ${request}`, history.taskId);
            requests.set(key, request);
            // Frames may be late; a read is not.
            if (event.what === "get" && event.sentAt > (answered.get(key) ?? Infinity))
              judge.violated(`"${key}" was asked after its answer was acknowledged`, history.taskId);
          }
      }
    },
  },
  {
    promise: "I7",
    title: "an acknowledged answer is in the result; of several the first wins",
    sides: ["clients"],
    look({ histories }, judge) {
      for (const history of histories) {
        const end = seenIn(history).find(({ seen }) => isTerminal(seen.status));
        const echo = end && echoOf(end.seen);
        if (!echo) continue;
        for (const key of history.scene.keys) {
          const sent = history.events.filter(
            ({ what, answers }) => what === "update" && answers?.[key] !== undefined,
          );
          const won = sent.filter(({ answers }) => answers?.[key] === echo[key]);
          const wonFrom = Math.min(...won.map(({ sentAt }) => sentAt));
          judge.looked();
          if (won.length === 0)
            judge.violated(`"${key}" is ${String(echo[key])}, which nobody answered`, history.taskId);
          const lost = sent.find(
            ({ verdict, at, answers }) => verdict === "ok" && answers?.[key] !== echo[key] && at < wonFrom,
          );
          if (lost)
            judge.violated(
              `"${key}" is ${String(echo[key])}; ${lost.answers?.[key]} was acknowledged before that was sent`,
              history.taskId,
            );
        }
      }
    },
  },
  {
    promise: "I8",
    title: "a stranger cannot tell a task from one that does not exist",
    sides: ["clients"],
    look({ strangers }, judge) {
      const known = new Set(strangers.toNobody);
      judge.looked(strangers.toOthers.length);
      for (const text of strangers.toOthers)
        if (!known.has(text)) judge.violated(`A stranger was told: ${text.slice(0, 200)}`);
    },
  },
  {
    promise: "I9",
    title: "after an acknowledged cancel no read shows a task that goes on",
    sides: ["clients"],
    look({ histories }, judge) {
      for (const history of histories) {
        const acknowledged = history.events.find(
          ({ what, verdict }) => what === "cancel" && verdict === "ok",
        );
        if (!acknowledged) continue;
        judge.looked();
        for (const read of readsOf(history))
          if (read.sentAt > acknowledged.at && !isTerminal(read.seen.status))
            judge.violated(`It goes on after its cancel: ${shown(read)}`, history.taskId);
      }
    },
  },
  {
    promise: "I11",
    title: "every task ends as it must, whatever was done to the cluster",
    sides: ["clients", "audit"],
    look({ histories, audit }, judge) {
      for (const history of histories) {
        const { scene, events, taskId } = history;
        const end = seenIn(history).find(({ seen }) => isTerminal(seen.status));
        const wrong = end && wrongEnd(history, end.seen);
        judge.looked();
        if (wrong !== undefined) judge.violated(wrong, taskId);
        const waited = events.find(({ said }) => said !== undefined);
        if (waited && !waited.said?.includes(`"${scene.note}"`))
          judge.violated(`A call that waited got ${waited.said}`);
        const hasGone = taskId !== undefined && endOf(audit.get(taskId) ?? []) !== undefined;
        if (taskId !== undefined && !end && !hasGone) judge.violated("It has not ended", taskId);
      }
    },
  },
];
