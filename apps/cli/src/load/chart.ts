import type { LoadReport } from "./report.ts";

/** A line of a panel: points of time (seconds since the start) and value; it has a gap where there is no value. */
export interface Line {
  readonly name: string;
  readonly color: string;
  readonly points: readonly (readonly [at: number, value: number | undefined])[];
}

/** One of the charts that share an axis of time. */
export interface Panel {
  readonly title: string;
  readonly lines: readonly Line[];
}

const WIDTH = 960;
const LEFT = 64;
const RIGHT = 16;
const PANEL = 150;
const GAP = 46;
const TOP = 34;
const COLORS = ["#1f6feb", "#1a7f37", "#bf8700", "#cf222e", "#8250df", "#57606a"];

/** The panels of a report: throughput, latency, failed requests, CPU and memory of each role. */
export function panelsOf({ seconds, usage }: LoadReport): readonly Panel[] {
  const line = (
    name: string,
    color: number,
    value: (second: (typeof seconds)[number]) => number | undefined,
  ): Line => ({
    name,
    color: COLORS[color] ?? "#57606a",
    points: seconds.map((second) => [second.at, value(second)]),
  });
  const roles = [...new Set(usage.map(({ role }) => role))];
  const ofRoles = (value: (sample: (typeof usage)[number]) => number): readonly Line[] =>
    roles.map((role, at) => ({
      name: role,
      color: COLORS[at % COLORS.length] ?? "#57606a",
      points: usage.filter((sample) => sample.role === role).map((sample) => [sample.at, value(sample)]),
    }));
  return [
    {
      title: "Tasks a second",
      lines: [
        line("created", 0, ({ created }) => created),
        line("completed", 1, ({ completed }) => completed),
      ],
    },
    {
      title: "From creation to the end, ms",
      lines: [
        line("p50", 0, ({ completed, taskP50 }) => (completed > 0 ? taskP50 : undefined)),
        line("p99", 2, ({ completed, taskP99 }) => (completed > 0 ? taskP99 : undefined)),
      ],
    },
    {
      title: "Answer to a creation, ms",
      lines: [
        line("p50", 0, ({ created, createP50 }) => (created > 0 ? createP50 : undefined)),
        line("p99", 2, ({ created, createP99 }) => (created > 0 ? createP99 : undefined)),
      ],
    },
    { title: "Failed requests a second", lines: [line("failed", 3, ({ failedRequests }) => failedRequests)] },
    ...(usage.length === 0
      ? []
      : [
          { title: "CPU by role, cores", lines: ofRoles(({ cpu }) => cpu) },
          { title: "Memory by role, MB", lines: ofRoles(({ memoryBytes }) => memoryBytes / 1e6) },
        ]),
  ];
}

/** The picture of a load: one SVG, that needs nothing else. */
export function drawChart(report: LoadReport): string {
  const panels = panelsOf(report);
  const height = TOP + panels.length * (PANEL + GAP);
  const end = Math.max(1, report.seconds.length, ...report.usage.map(({ at }) => at));
  const x = (at: number): number => LEFT + (Math.min(at, end) / end) * (WIDTH - LEFT - RIGHT);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, sans-serif" font-size="11" role="img" aria-label="Load over time">`,
    `<rect width="100%" height="100%" fill="#ffffff"/>`,
    ...drawFaults(report, x, height),
    ...panels.flatMap((panel, at) => drawPanel(panel, { top: TOP + at * (PANEL + GAP), x, end })),
    `</svg>`,
  ].join("\n");
}

type Scale = (at: number) => number;

function drawFaults({ faults }: LoadReport, x: Scale, height: number): string[] {
  return faults.flatMap(({ name, at, until = at }, index) => {
    const width = Math.max(1.5, x(until) - x(at));
    // Names that would lie on each other take turns between two lines.
    const y = index % 2 === 0 ? 12 : 25;
    return [
      `<rect class="fault" x="${fixed(x(at))}" y="${y + 3}" width="${fixed(width)}" height="${height - y - 20}" fill="#cf222e" fill-opacity="0.1"/>`,
      `<line x1="${fixed(x(at))}" x2="${fixed(x(at))}" y1="${y + 3}" y2="${height - 17}" stroke="#cf222e" stroke-dasharray="3 3"/>`,
      `<text x="${fixed(x(at))}" y="${y}" fill="#cf222e">${escapeText(name)}</text>`,
    ];
  });
}

function drawPanel(
  { title, lines }: Panel,
  { top, x, end }: { readonly top: number; readonly x: Scale; readonly end: number },
): string[] {
  const plotTop = top + 22;
  const bottom = top + PANEL + 12;
  const limit = niceLimit(
    Math.max(0, ...lines.flatMap(({ points }) => points.map(([, value]) => value ?? 0))),
  );
  const y: Scale = (value) => bottom - (value / limit) * (bottom - plotTop);
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => share * limit);
  const out = [
    `<text x="${LEFT}" y="${top + 14}" font-weight="600" fill="#1f2328">${escapeText(title)}</text>`,
  ];
  let legend = WIDTH - RIGHT;
  for (const { name, color } of lines.toReversed()) {
    legend -= 18 + name.length * 6.5;
    out.push(
      `<rect x="${fixed(legend)}" y="${top + 6}" width="9" height="9" fill="${color}"/>`,
      `<text x="${fixed(legend + 12)}" y="${top + 14}" fill="#57606a">${escapeText(name)}</text>`,
    );
  }
  for (const tick of ticks)
    out.push(
      `<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${fixed(y(tick))}" y2="${fixed(y(tick))}" stroke="#d0d7de" stroke-width="0.6"/>`,
      `<text x="${LEFT - 6}" y="${fixed(y(tick) + 4)}" text-anchor="end" fill="#57606a">${shortNumber(tick)}</text>`,
    );
  for (const at of timeTicks(end))
    out.push(
      `<text x="${fixed(x(at))}" y="${bottom + 14}" text-anchor="middle" fill="#57606a">${at} s</text>`,
    );
  for (const { color, points } of lines) {
    out.push(
      `<path d="${pathOf(points, x, y)}" fill="none" stroke="${color}" stroke-width="1.5" stroke-linejoin="round"/>`,
    );
  }
  return out;
}

/** The least of 1, 2, 2.5, 5, 10, … that a value does not exceed; 1 for none. */
export function niceLimit(value: number): number {
  if (!(value > 0)) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 2.5, 5, 10].find((step) => step * unit >= value) ?? 10) * unit;
}

function pathOf(points: Line["points"], x: Scale, y: Scale): string {
  let isDrawing = false;
  return points
    .map(([at, value]) => {
      if (value === undefined) {
        isDrawing = false;
        return "";
      }
      const step = `${isDrawing ? "L" : "M"}${fixed(x(at))},${fixed(y(value))}`;
      isDrawing = true;
      return step;
    })
    .join("");
}

function timeTicks(end: number): readonly number[] {
  const step = [1, 2, 5, 10, 30, 60, 300, 600, 3600].find((seconds) => end / seconds <= 12) ?? 7200;
  return Array.from({ length: Math.floor(end / step) + 1 }, (_, at) => at * step);
}

function shortNumber(value: number): string {
  if (value >= 10_000) return `${Math.round(value / 1000)}k`;
  return String(Math.round(value * 100) / 100);
}

function fixed(value: number): string {
  return value.toFixed(1);
}

/** Text that may stand in HTML and SVG. */
export function escapeText(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
