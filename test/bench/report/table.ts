import type { Figure, Figures } from "../figures.ts";
import { shown } from "./numbers.ts";

const HEADS = ["figure", "ours", "anchor", "score", "spread", "target", ""];

/** The figures for a terminal: medians, the spread of the scores over the rounds, and what was promised. */
export function presentTable({ figures, machine, form }: Figures): string {
  const rows = [HEADS, ...figures.map(rowOf)];
  const widths = HEADS.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const lines = rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column]!))
      .join("  ")
      .trimEnd(),
  );
  const [before, after] = machine.load.map((load) => load.toFixed(1));
  return [
    ...lines.slice(0, 1),
    widths.map((width) => "─".repeat(width)).join("  "),
    ...lines.slice(1),
    "",
    ...figures.flatMap(asideOf),
    `${form} form · ${machine.cpus} × ${machine.model} · Node ${machine.node} · load ${before} → ${after}`,
  ].join("\n");
}

function rowOf(figure: Figure): string[] {
  const { name, unit, ours, anchor, score, scoreSpread, scoreUnit, target, isMet } = figure;
  return [
    name,
    `${shown(ours)} ${unit}`,
    anchor === undefined ? "" : `${shown(anchor)} ${unit}`,
    anchor === undefined ? shown(score) : `${shown(score)} ${scoreUnit}`,
    scoreSpread.map(shown).join(" – "),
    target ? `${target.kind === "at most" ? "≤" : "≥"} ${shown(target.score)}` : "",
    isMet === undefined ? "" : isMet ? "met" : "MISSED",
  ];
}

function asideOf({ name, aside }: Figure): string[] {
  if (!aside) return [];
  const parts = Object.entries(aside).map(([what, value]) => `${shown(value)} ${what}`);
  return [`  ${name}: ${parts.join(", ")}`];
}

/** The judged figures as a Markdown table, for the documents. */
export function presentMarkdown({ figures, machine, command, at }: Figures): string {
  const judged = figures.filter(({ target }) => target !== undefined);
  const rows = judged.map(({ title, unit, ours, anchor, anchorTitle, score, scoreSpread, target, isMet }) =>
    [
      "",
      title,
      `${shown(ours)} ${unit}`,
      anchor === undefined ? "" : `${shown(anchor)} ${unit} (${anchorTitle})`,
      `${shown(score)} (${scoreSpread.map(shown).join("–")})`,
      `${target!.kind === "at most" ? "≤" : "≥"} ${shown(target!.score)}`,
      isMet ? "met" : "missed",
      "",
    ]
      .join(" | ")
      .trim(),
  );
  const [before, after] = machine.load.map((load) => load.toFixed(1));
  return [
    "| figure | ours | anchor | score, median (spread) | target | |",
    "|---|---|---|---|---|---|",
    ...rows,
    "",
    `\`${command}\`, ${at.slice(0, 10)}, ${machine.cpus} × ${machine.model}, Node ${machine.node}, load average ${before} before and ${after} after.`,
  ].join("\n");
}
