import { writeFile } from "node:fs/promises";
import { arch, cpus, platform, totalmem } from "node:os";
import { CliError } from "../cli-error.ts";
import { parseDurationSeconds } from "../duration.ts";
import { drawChart } from "../load/chart.ts";
import { parseMix } from "../load/mix.ts";
import { drawPage } from "../load/page.ts";
import type { LoadReport } from "../load/report.ts";
import { type LoadOptions, type Progress, startLoad } from "../load/run-load.ts";
import type { Screen } from "./call.ts";
import { type ConnectOptions, findServer } from "./connect.ts";

/** Options of `perdure load`. */
export interface LoadCommandOptions extends ConnectOptions {
  readonly rate: string;
  readonly duration: string;
  readonly mix: string;
  readonly pollers: number;
  readonly listeners: number;
  readonly open: number;
  readonly drain: string;
  readonly ops: string;
  readonly out: string;
}

/** `perdure load`: makes tasks, follows them to their end, and writes a report. Ends with exit code 1 when a task was lost. */
export async function load(options: LoadCommandOptions, screen: Screen): Promise<void> {
  const server = await findServer(options, screen.env);
  const stopping = new AbortController();
  const running = startLoad({
    ...loadOptionsOf(options),
    ...server,
    onSecond: createProgressLine(screen.err),
    signal: stopping.signal,
  });
  const onSignal = (): void => stopping.abort();
  process.once("SIGINT", onSignal);
  const report = await running.report;
  process.off("SIGINT", onSignal);
  screen.err.write("\n");
  await writeReport(report, { out: options.out, command: commandOf(options) });
  screen.out.write(`${sentenceOf(report)}\n${options.out}.html, .svg and .json\n`);
  if (report.lost > 0) throw new CliError(`${report.lost} tasks were lost: ${report.lostIds.join(", ")}`);
}

/** The words of the command as options of a load. Throws a {@link CliError} for one that makes no sense. */
export function loadOptionsOf(
  options: Omit<LoadCommandOptions, keyof ConnectOptions | "out">,
): Omit<LoadOptions, "url" | "token" | "onSecond"> {
  const rate = options.rate === "max" ? "max" : Number(options.rate);
  if (rate !== "max" && !(rate > 0))
    throw new CliError(`"${options.rate}" is no rate: write a number, or max`, 2);
  const { pollers, listeners } = options;
  if (!(pollers + listeners > 0))
    throw new CliError("Somebody must follow: give --pollers or --listeners", 2);
  const urls = options.ops.split(",").filter(Boolean);
  return {
    rate,
    seconds: parseDurationSeconds(options.duration),
    mix: parseMix(options.mix),
    followers: new Map([
      ["poller", pollers],
      ["listener", listeners],
    ]),
    maxOpen: options.open,
    drainSeconds: parseDurationSeconds(options.drain),
    opsUrls: () => urls,
  };
}

/** Writes `<out>.json`, `<out>.svg` and `<out>.html`. */
export async function writeReport(
  report: LoadReport,
  { out, command }: { readonly out: string; readonly command: string },
): Promise<void> {
  const machine = machineOf();
  await writeFile(`${out}.json`, `${JSON.stringify({ command, machine, ...report }, null, 2)}\n`);
  await writeFile(`${out}.svg`, `${drawChart(report)}\n`);
  await writeFile(`${out}.html`, drawPage(report, { command, machine }));
}

/** Shows how a load goes: one line that changes at a terminal, else a line every five seconds. */
export function createProgressLine(err: NodeJS.WriteStream): (progress: Progress) => void {
  let told = 0;
  return (progress) => {
    told += 1;
    const line = progressText(progress);
    if (err.isTTY) err.write(`\r\u001B[2K${line}`);
    else if (told % 5 === 0) err.write(`${line}\n`);
  };
}

/** What came of a load, in a sentence. */
export function sentenceOf({ counts, lost, latencies }: LoadReport): string {
  return `${counts.created} tasks created, ${counts.completed} completed, ${lost} lost; ${counts.requests} requests, ${counts.failedRequests} failed; creation p99 ${latencies.create.p99} ms; ${counts.frames} frames, ${counts.lateFrames} late, ${counts.missingFrames} missing`;
}

function progressText(progress: Progress): string {
  const { at, created, createdNow, completed, completedNow, open, failedRequests, lost } = progress;
  return `${at.toFixed(0).padStart(4)} s  created ${created} (${createdNow}/s)  completed ${completed} (${completedNow}/s)  open ${open}  failed requests ${failedRequests}  lost ${lost}`;
}

function commandOf({ rate, duration, mix, pollers, listeners }: LoadCommandOptions): string {
  return `npx perdure load --rate ${rate} --duration ${duration} --mix ${mix} --pollers ${pollers} --listeners ${listeners}`;
}

function machineOf(): string {
  const [cpu] = cpus();
  return `${cpus().length} × ${cpu?.model.trim() ?? arch()}, ${Math.round(totalmem() / 2 ** 30)} GB, ${platform()}, Node ${process.versions.node}`;
}
