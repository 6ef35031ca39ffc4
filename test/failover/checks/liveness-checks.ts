import { isTerminal } from "@perdure/tasks";
import { type MeasuredWait, claimWaits, measureWaits, quantile } from "../claim-waits.ts";
import type { FaultKind } from "../fault-kinds.ts";
import { type Check, type Evidence, endOf } from "./evidence.ts";

/** Every wait for a claim in a run. */
export function waitsOf({ audit, faults, endedAt }: Evidence): readonly MeasuredWait[] {
  const waits = [...audit].flatMap(([taskId, entries]) => claimWaits(taskId, entries, endedAt));
  return measureWaits(waits, faults, endedAt);
}

const STREAM_MS = 15_000;
/** While one of these lasts, a replica cannot read: that time is not the stream's. */
const OUTAGES: ReadonlySet<FaultKind> = new Set([
  "kill-redis",
  "pause-redis",
  "partition-replica",
  "delay-network",
]);
/**
 * In calm a wake-up is followed at once. A median, with enough of the kind; and what a busy machine needs to claim a task that
 * was just created comes on top.
 */
const PROMPT_MS = 2000;
const ENOUGH = 5;
const CREATION = "create: created";

const medianOf = (waits: readonly MeasuredWait[]): number =>
  quantile(
    waits.map(({ ms }) => ms),
    0.5,
  );
/** What the machine needs for a task that was just created; of an idle one some 20 ms. */
const usualMs = ({ leaseMs }: Evidence, waits: readonly MeasuredWait[]): number =>
  Math.min(medianOf(waits), 2 * leaseMs);

/** What must come in time. */
export const LIVENESS_CHECKS: readonly Check[] = [
  {
    promise: "I13",
    title:
      "no orphan: what can be claimed is claimed within 2 leases + 5 s of the last fault (p99), at the end all of it",
    sides: ["audit"],
    look(evidence, judge) {
      const waits = waitsOf(evidence);
      judge.looked(waits.length);
      const bound = 2 * evidence.leaseMs + 5000;
      const late = waits.filter(({ ms }) => ms > bound);
      const p99 = quantile(
        waits.map(({ ms }) => ms),
        0.99,
      );
      if (p99 > bound) {
        judge.violated(
          `p99 is ${Math.round(p99)} ms, and may be ${bound}; ${late.length} of ${waits.length} took longer`,
        );
        for (const { taskId, cause, ms } of late.slice(0, 3)) judge.violated(`${cause}: ${ms} ms`, taskId);
      }
      for (const { taskId, cause, ms } of waits.filter(({ until }) => until === undefined))
        judge.violated(`Nobody has claimed it for ${ms} ms (${cause})`, taskId);
    },
  },
  {
    promise: "I13",
    title: "in calm each kind of wake-up is followed at once (median within 2 s of a creation's)",
    sides: ["audit"],
    look(evidence, judge) {
      const calm = Map.groupBy(
        waitsOf(evidence).filter(({ isCalm }) => isCalm),
        ({ cause }) => cause,
      );
      const usual = usualMs(evidence, calm.get(CREATION) ?? []);
      for (const [cause, waits] of calm) {
        if (waits.length < ENOUGH || cause === "lease over") continue;
        judge.looked(waits.length);
        const median = medianOf(waits);
        if (median <= PROMPT_MS + usual) continue;
        judge.violated(
          `${cause}: the median of ${waits.length} is ${Math.round(median)} ms`,
          waits[0]?.taskId,
        );
      }
    },
  },
  {
    promise: "I14",
    title: "every open listener gets the end within 15 s, hints or none",
    sides: ["clients", "audit"],
    look({ histories, audit, faults, endedAt }, judge) {
      for (const { events, taskId } of histories) {
        const end = endOf(audit.get(taskId ?? "") ?? []);
        if (!end) continue;
        for (const opened of events.filter(({ what, verdict }) => what === "listen" && verdict === "ok")) {
          const owed = Math.max(end.at, opened.at);
          const outages = faults
            .filter(({ kind, from, to }) => OUTAGES.has(kind) && to >= owed && from <= owed + STREAM_MS)
            .reduce((sum, { from, to }) => sum + (to - Math.max(from, owed)), 0);
          const deadline = owed + STREAM_MS + outages;
          const frames = events.filter(({ what, stream }) => what === "frame" && stream === opened.stream);
          const told = frames.find(({ seen }) => seen && isTerminal(seen.status));
          const closed = events.find(({ what, stream }) => what === "stream end" && stream === opened.stream);
          if (!told && (closed?.at ?? endedAt) < deadline) continue;
          judge.looked();
          if (!told || told.at > deadline)
            judge.violated(
              `The stream via ${opened.via} was open, and ${told ? `was told ${told.at - owed} ms later` : "was told nothing"}`,
              taskId,
            );
        }
      }
    },
  },
  {
    promise: "I15",
    title: "parked tasks hold no job and no worker: a fresh one starts at once",
    sides: ["queue", "audit"],
    look(evidence, judge) {
      const { rest, audit } = evidence;
      if (!rest) return;
      if (rest.problem !== undefined) return judge.violated(rest.problem);
      judge.looked(rest.parked.length);
      for (const { id, lists } of rest.jobs) {
        const taskId = id.replace(/-\d+-\d+$/, "");
        // What `wipe-queue` has overlooked of a task that has ended, nobody follows and nothing waits for.
        if (lists.length === 0 && !rest.parked.includes(taskId)) continue;
        judge.violated(
          `There is a job ${id} while all tasks are parked, in ${lists.join(", ") || "no list"}`,
          taskId,
        );
      }
      const fresh = audit.get(rest.freshTaskId) ?? [];
      const created = fresh.find(({ script }) => script === "create");
      const claimed = fresh.find(({ script, after }) => script === "claim" && after);
      const ms = created && claimed ? claimed.at - created.at : Infinity;
      const creations = waitsOf(evidence).filter(({ cause }) => cause === CREATION);
      if (ms > PROMPT_MS + usualMs(evidence, creations))
        judge.violated(`A fresh task was claimed after ${ms} ms`, rest.freshTaskId);
      for (const taskId of rest.parked) {
        const last = (audit.get(taskId) ?? []).findLast(
          ({ after, at }) => after && at <= (created?.at ?? 0),
        )?.after;
        if (last?.claim !== undefined) judge.violated("It was parked and held by a worker", taskId);
      }
    },
  },
];
