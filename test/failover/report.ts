import type { AuditEntry } from "./audit.ts";
import { type Evidence, said } from "./checks/evidence.ts";
import { waitsOf } from "./checks/liveness-checks.ts";
import { quantile } from "./claim-waits.ts";
import { ABOUT_FAULT } from "./fault-kinds.ts";
import type { Finding } from "./judge.ts";
import type { ChaosOptions } from "./options.ts";

const TOLD_TASKS = 8;
const TOLD_LINES = 10;

/** What stood in the way of a proof, although nothing was violated. */
export function gapsIn(evidence: Evidence, findings: readonly Finding[], options: ChaosOptions): string[] {
  const done = (kind: string): number =>
    evidence.faults.filter((fault) => fault.kind === kind && fault.tookEffect).length;
  const faults = options.faults
    .filter((kind) => done(kind) < options.quota)
    .map((kind) => `${kind} took effect ${done(kind)} times, not ${options.quota}`);
  if (!options.isWhole) return faults;
  const blind = findings
    .filter(({ looked }) => looked === 0)
    .map(({ check }) => `${check.promise} was not put to the test: ${check.title}`);
  return [...faults, ...blind];
}

/** The table of faults, with the time from the end of each to the claim of every task that waited through it. */
export function presentFaults(evidence: Evidence, options: ChaosOptions): string {
  const waits = waitsOf(evidence).filter(({ isCalm }) => !isCalm);
  const recovery = (kind: string): number[] =>
    evidence.faults
      .filter((fault) => fault.kind === kind)
      .flatMap(({ from, to }) =>
        waits
          .filter(({ since, until }) => since <= to && since >= from - 60_000 && (until ?? Infinity) > to)
          .map(({ until }) => (until ?? evidence.endedAt) - to),
      );
  const row = (name: string, ...cells: (string | number)[]): string =>
    `  ${name.padEnd(18)}${cells.map((cell) => String(cell).padStart(8)).join("")}`;
  const ms = (values: number[], share: number): string =>
    values.length === 0 ? "-" : String(Math.round(quantile(values, share)));
  const all = options.faults.flatMap(recovery);
  return [
    row("fault", "done", "effect", "waiting", "p50 ms", "p99 ms") + "  what",
    ...options.faults.map((kind) => {
      const done = evidence.faults.filter((fault) => fault.kind === kind);
      const times = recovery(kind);
      const effect = done.filter(({ tookEffect }) => tookEffect).length;
      return `${row(kind, done.length, effect, times.length, ms(times, 0.5), ms(times, 0.99))}  ${ABOUT_FAULT[kind]}`;
    }),
    row("all", evidence.faults.length, "", all.length, ms(all, 0.5), ms(all, 0.99)),
    "  waiting: tasks that could be claimed when the fault was over; ms: from there to their claim",
  ].join("\n");
}

/** The table of promises. */
export function presentFindings(findings: readonly Finding[]): string {
  return findings
    .map(({ check, looked, violations }) => {
      const verdict =
        violations.length > 0 ? `${violations.length} VIOLATIONS` : looked === 0 ? "not seen" : "kept";
      return `  ${check.promise.padEnd(4)} ${verdict.padEnd(14)} ${String(looked).padStart(7)} looked at   ${check.title} [${check.sides.join(", ")}]`;
    })
    .join("\n");
}

/** What came of the tasks, in one line. */
export function presentTasks({ audit, histories }: Evidence): string {
  const ends = Map.groupBy(audit.values(), (entries) => {
    const last = entries.findLast(({ after }) => after)?.after?.status;
    return last ?? (entries.some(({ after }) => after) ? "removed" : undefined);
  });
  // Strangers ask for ids that nobody has: these are no tasks.
  ends.delete(undefined);
  const counts = [...ends].map(([status, tasks]) => `${tasks.length} ${status}`).toSorted();
  const total = [...ends.values()].reduce((sum, tasks) => sum + tasks.length, 0);
  const known = histories.filter(({ taskId }) => taskId !== undefined).length;
  const events = histories.flatMap((history) => history.events);
  const unknown = events.filter(({ verdict }) => verdict === "unknown").length;
  return `${total} tasks (${counts.join(", ")}), ${known} of them with a known id; ${events.length} answers and frames, ${unknown} requests without an answer`;
}

/** What the faults came to, as the scripts saw it: a run in which none of this happens is a quiet one. */
export function presentBite({ audit }: Evidence): string {
  const entries = [...audit.values()].flat();
  const count = (is: (entry: AuditEntry) => boolean): number => entries.filter(is).length;
  const named = entries.flatMap(({ script, op, claim }) => {
    const id = script === "claim" ? claim : op;
    return id === "" ? [] : [`${script} ${id}`];
  });
  return [
    `stale writes refused: ${count(({ reply }) => reply[0] === "fenced")}`,
    `operations sent again: ${named.length - new Set(named).size}`,
    `leases that ended without a word: ${count(({ script, reply, before, after }) => reply[1] === "lease-ended" || (script === "claim" && after !== undefined && before.claim !== undefined))}`,
    `claims in vain: ${count(({ script, after }) => script === "claim" && !after)}`,
    `wake-ups sent again: ${count(({ script, reply }) => script === "rouse" && reply[1] === "queued")}`,
  ].join(", ");
}

/** Every violation, and the whole history of the tasks: of the first few, unless `isWhole`. */
export function presentViolations(findings: readonly Finding[], evidence: Evidence, isWhole = false): string {
  const violations = findings.flatMap((finding) => finding.violations);
  const lines = [...Map.groupBy(violations, ({ promise }) => promise).values()].flatMap((broken) => {
    const told = isWhole ? broken : broken.slice(0, TOLD_LINES);
    const left = broken.length - told.length;
    return [
      ...told.map(({ promise, said: what, taskId }) => `${promise} ${taskId ?? "-"}: ${what}`),
      ...(left > 0 ? [`… and ${left} more`] : []),
    ];
  });
  const tasks = [...new Set(violations.flatMap(({ taskId }) => taskId ?? []))];
  const told = tasks.slice(0, isWhole ? tasks.length : TOLD_TASKS);
  const histories = told.map((taskId) => historyOf(taskId, evidence));
  return [
    ...lines,
    ...histories,
    ...(tasks.length > told.length
      ? [`… and the histories of ${tasks.length - told.length} more tasks`]
      : []),
  ].join("\n");
}

/** The history of every task, in the order of their creation. */
export function presentAll(evidence: Evidence): string {
  return [...evidence.audit.keys()].map((taskId) => historyOf(taskId, evidence)).join("\n");
}

interface Line {
  readonly at: number;
  readonly text: string;
}

/** All that happened to a task, from all sides, in the order of time. */
function historyOf(taskId: string, evidence: Evidence): string {
  const entries = evidence.audit.get(taskId) ?? [];
  const history = evidence.histories.find((candidate) => candidate.taskId === taskId);
  const begin = entries[0]?.at ?? history?.createdAt ?? 0;
  const lines: Line[] = [
    ...entries.map((entry) => ({
      at: entry.at,
      text: `audit   ${said(entry)}${entry.claim ? ` claim ${entry.claim.slice(0, 6)}/${entry.epoch}` : ""}${entry.op ? ` op ${entry.op.slice(0, 6)}` : ""}${entry.name ? ` ${entry.name}` : ""} held by ${entry.after?.claim?.slice(0, 6) ?? "-"} wake ${entry.after?.wake ?? "-"}`,
    })),
    ...(history?.events ?? []).map(({ at, sentAt, what, via, verdict, seen, answers, error }) => ({
      at,
      text: `client  ${what} via ${via}, sent at ${sentAt - begin}: ${verdict}${seen ? ` ${seen.status} of ${seen.updatedAt - begin} ${seen.bytes.slice(0, 6)} ${seen.message ?? ""}` : ""}${answers ? ` ${JSON.stringify(answers)}` : ""}${error ? ` ${error.message}` : ""}`,
    })),
    ...(evidence.tools.get(taskId) ?? []).map(({ at, what, step, pid, run }) => ({
      at,
      text: `tool    ${what} ${step} (process ${pid}, run ${run})`,
    })),
    ...evidence.faults
      .filter(({ from, to }) => to >= begin && from <= (entries.at(-1)?.at ?? begin) + 15_000)
      .map(({ from, to, kind, about }) => ({
        at: from,
        text: `fault   ${kind} until ${to - begin}: ${about}`,
      })),
  ];
  const head = `\n--- ${taskId} (${history?.scene.kind ?? "of no client"}), times in ms from ${new Date(begin).toISOString()}`;
  const body = lines
    .toSorted((a, b) => a.at - b.at)
    .map(({ at, text }) => `  ${String(at - begin).padStart(7)} ${text}`);
  return [head, ...body].join("\n");
}
