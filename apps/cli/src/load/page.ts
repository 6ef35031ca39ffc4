import { drawChart, escapeText } from "./chart.ts";
import { KINDS } from "./mix.ts";
import { type LoadReport, roleTotals } from "./report.ts";
import { LATE_MS } from "./timeline.ts";

type Row = readonly (string | number)[];

/** The report as one page that needs nothing else: no script, no request. */
export function drawPage(
  report: LoadReport,
  { command, machine }: { readonly command: string; readonly machine: string },
): string {
  const { counts, latencies } = report;
  const rate = report.rate === "max" ? "as many as are taken" : `${report.rate} tasks a second`;
  const times: readonly Row[] = [
    ["answer to a creation", ...percentiles(latencies.create)],
    ["answer to a poll", ...percentiles(latencies.poll)],
    ["change to pushed frame", ...percentiles(latencies.push)],
    ...KINDS.map((kind): Row => [`creation to end: ${kind}`, ...percentiles(latencies.task[kind])]),
  ];
  const verdict = report.lost === 0 ? "No task was lost." : `${report.lost} tasks were lost.`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Load report: ${escapeText(report.startedAt)}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2328; background: #fff; max-width: 980px; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem } td, th { padding: 0.2rem 0.9rem 0.2rem 0; text-align: right; border-bottom: 1px solid #d0d7de }
td:first-child, th:first-child { text-align: left } svg { max-width: 100%; height: auto } code { font-size: 13px }
.bad { color: #cf222e; font-weight: 600 } .good { color: #1a7f37; font-weight: 600 }
</style>
<h1>Load report</h1>
<p>${escapeText(report.startedAt)}, ${report.loadSeconds} s, ${rate}; mix ${escapeText(shares(report.mix))}; followed by ${escapeText(shares(report.followers))}.<br>
<code>${escapeText(command)}</code><br>${escapeText(machine)}</p>
<p class="${report.lost === 0 ? "good" : "bad"}">${verdict}</p>
${table(
  ["tasks", ""],
  [
    ["created", counts.created],
    ["completed", counts.completed],
    ["lost", report.lost],
    ["failed", counts.failedTasks],
    ["with another's result", counts.mixedUp],
    ["not taken (the client was told so)", counts.refused],
    ["behind the stated rate at worst", report.heldBack],
  ],
)}
${table(
  ["requests and frames", ""],
  [
    ["requests", counts.requests],
    ["failed", counts.failedRequests],
    ...Object.entries(counts.failures).map(([reason, times]): Row => [`· ${reason}`, times]),
    ["frames pushed", counts.frames],
    [`late: over ${LATE_MS} ms after the change`, counts.lateFrames],
    ["missing: the end was never pushed", counts.missingFrames],
    ["streams opened again", counts.reopenedStreams],
  ],
)}
${drawChart(report)}
<h2>Times, ms</h2>
${table(["", "count", "p50", "p90", "p99", "max"], times)}
${report.faults.length === 0 ? "" : `<h2>Faults</h2>\n${table(["fault", "at", "until", "felt for"], report.faults.map(faultRow))}`}
${report.usage.length === 0 ? "" : `<h2>Processes</h2>\n${table(["role", "processes", "CPU mean", "CPU max", "memory max"], roleRows(report))}`}
</html>
`;
}

function percentiles({ count, p50, p90, p99, max }: LoadReport["latencies"]["create"]): Row {
  return [count, p50, p90, p99, max];
}

function faultRow({ name, at, until, recoverSeconds }: LoadReport["faults"][number]): Row {
  const felt =
    recoverSeconds === undefined
      ? "not seen to recover"
      : recoverSeconds === 0
        ? "not felt"
        : `${recoverSeconds.toFixed(1)} s`;
  return [name, `${at.toFixed(1)} s`, until === undefined ? "" : `${until.toFixed(1)} s`, felt];
}

function roleRows({ usage }: LoadReport): readonly Row[] {
  return roleTotals(usage).map(({ role, processes, meanCpu, maxCpu, maxMemoryBytes }) => [
    role,
    processes,
    meanCpu.toFixed(2),
    maxCpu.toFixed(2),
    `${Math.round(maxMemoryBytes / 1e6)} MB`,
  ]);
}

function shares(weights: Readonly<Record<string, number>>): string {
  return Object.entries(weights)
    .map(([name, weight]) => `${name}=${weight}`)
    .join(", ");
}

function table(head: readonly string[], rows: readonly Row[]): string {
  const cells = (row: Row, tag: "td" | "th"): string =>
    row.map((cell) => `<${tag}>${escapeText(String(cell))}</${tag}>`).join("");
  return `<table>\n<tr>${cells(head, "th")}</tr>\n${rows.map((row) => `<tr>${cells(row, "td")}</tr>`).join("\n")}\n</table>`;
}
