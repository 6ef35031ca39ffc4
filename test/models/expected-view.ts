import { lookAt } from "./task-model.ts";
import type { State, Task } from "./task-model.ts";
import type { View } from "./real-task.ts";

/** What is written once, or says nothing about the task's state: the model does not know it. */
const UNTOLD = new Set("tenant principal scopes method params tool capabilities poll ttl ops".split(" "));

/** What the model says lies in Redis, with `seen` for what it leaves open: how soon a queued task is looked at. */
export function expectedView(state: State, now: number, seen: View): View {
  if (state === "none") return { record: {}, at: {}, counts: {} };
  if (state === "tombstone") return { record: { expired: "1" }, at: {}, counts: {} };
  const { at, sleeps } = state;
  const fromNow = (tick: number): number => Math.round(tick - now);
  const latest = fromNow(lookAt(state, now));
  const isSoonEnough = at.queued !== undefined && seen.due !== undefined && seen.due <= latest;
  return {
    record: recordOf(state),
    at: {
      ...defined(
        {
          createdAt: at.created,
          updatedAt: at.updated,
          expires: at.expires,
          queuedAt: at.queued,
          leaseEnd: at.leaseEnd,
          wakeAt: at.wake,
          removeAt: at.remove,
          ...Object.fromEntries(Object.entries(sleeps).map(([name, tick]) => [`sl:${name}`, tick])),
        },
        fromNow,
      ),
    },
    counts: countsOf(state),
    due: isSoonEnough ? (seen.due ?? latest) : latest,
  };
}

/** The view without what the model does not know. */
export function toldOf(view: View): View {
  const record = Object.entries(view.record).filter(([field]) => !UNTOLD.has(field));
  return { ...view, record: Object.fromEntries(record) };
}

function defined(
  ticks: Readonly<Record<string, number | undefined>>,
  map: (tick: number) => number,
): Record<string, number> {
  // Zero and minus zero are one time.
  const entries = Object.entries(ticks).flatMap(([name, tick]) =>
    tick === undefined ? [] : [[name, map(tick) + 0] as const],
  );
  return Object.fromEntries(entries);
}

function recordOf(task: Task): Record<string, string> {
  const { status, message, inputs, result, error, ver, epoch, claim, wake, asking, failures, crashes } = task;
  const texts = { status, message, inputs, result, error, claim, endedBy: task.endedBy };
  const numbers = { ver, epoch, wake, failures, crashes };
  return Object.fromEntries([
    ...Object.entries(texts).flatMap(([name, text]) => (text === undefined ? [] : [[name, text]])),
    ...Object.entries(numbers).map(([name, number]) => [name, String(number)]),
    ...(asking ? [["asking", JSON.stringify(asking)]] : []),
    ...Object.entries(task.journal),
  ]);
}

function countsOf({ endedBy, at, claim }: Task): Record<string, string> {
  return {
    ...(endedBy === undefined && { open: "1" }),
    ...(at.queued !== undefined && { queued: "1" }),
    ...(claim !== undefined && { running: "1" }),
  };
}
