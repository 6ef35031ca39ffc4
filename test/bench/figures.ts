import { scoreOf, type FigureSpec, type Measured } from "./bench.ts";
import { medianOf, spreadOf } from "./statistics.ts";

/** One figure as it was measured, in JSON. */
export interface Figure {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly anchorTitle?: string;
  readonly scoreUnit: string;
  readonly target?: { readonly kind: "at most" | "at least"; readonly score: number };
  /** Medians over the rounds. */
  readonly ours: number;
  readonly anchor?: number;
  readonly score: number;
  readonly oursSpread: readonly [number, number];
  readonly anchorSpread?: readonly [number, number];
  readonly scoreSpread: readonly [number, number];
  /** Undefined when there is no target. */
  readonly isMet?: boolean;
  readonly guardFloor?: number;
  readonly aside?: Readonly<Record<string, number>>;
  readonly rounds: readonly Measured[];
}

/** A run of the bench, as `figures.json` keeps it. */
export interface Figures {
  readonly command: string;
  readonly at: string;
  readonly form: "whole" | "quick";
  readonly machine: {
    readonly cpus: number;
    readonly model: string;
    readonly node: string;
    /** Runnable processes in the last minute, before and after: more than `cpus` means that others were at work too. */
    readonly load: readonly [number, number];
  };
  readonly figures: readonly Figure[];
}

/** The figure of all rounds: medians of what was measured and of the rounds' scores. */
export function toFigure(spec: FigureSpec, rounds: readonly Measured[]): Figure {
  const ours = rounds.map((round) => round.ours);
  const anchors = rounds.flatMap(({ anchor }) => (anchor === undefined ? [] : [anchor]));
  const scores = rounds.map((round) => scoreOf(spec, round));
  const score = medianOf(scores);
  const asides = Object.keys(rounds[0]?.aside ?? {});
  return {
    name: spec.name,
    title: spec.title,
    unit: spec.unit,
    ...(spec.anchorTitle !== undefined && { anchorTitle: spec.anchorTitle }),
    scoreUnit: spec.scoreUnit ?? (anchors.length > 0 ? "ratio" : spec.unit),
    ...(spec.target && { target: spec.target, isMet: isWithin(spec.target, score) }),
    ...(spec.guardFloor !== undefined && { guardFloor: spec.guardFloor }),
    ours: medianOf(ours),
    oursSpread: spreadOf(ours),
    ...(anchors.length > 0 && { anchor: medianOf(anchors), anchorSpread: spreadOf(anchors) }),
    score,
    scoreSpread: spreadOf(scores),
    ...(asides.length > 0 && {
      aside: Object.fromEntries(asides.map((key) => [key, medianOf(rounds.map((r) => r.aside?.[key] ?? 0))])),
    }),
    rounds,
  };
}

function isWithin({ kind, score: bound }: NonNullable<FigureSpec["target"]>, score: number): boolean {
  return kind === "at most" ? score <= bound : score >= bound;
}

/** What the guard says of a figure that is worse than the kept one. */
export interface Worsening {
  readonly name: string;
  readonly kept: number;
  readonly now: number;
  /** 0.3 is 30 % worse. */
  readonly by: number;
}

/** Figures whose score is worse than the kept one by more than `tolerance`. What only one of the runs has is not compared. */
export function worsened(kept: Figures, now: Figures, tolerance: number): readonly Worsening[] {
  return now.figures.flatMap((figure): Worsening[] => {
    const before = kept.figures.find(({ name }) => name === figure.name);
    const kind = figure.target?.kind;
    if (!before || kind === undefined) return [];
    const floor = figure.guardFloor ?? 0;
    const [was, is] = [Math.max(before.score, floor), Math.max(figure.score, floor)];
    const by = kind === "at most" ? is / was - 1 : was / is - 1;
    return by > tolerance ? [{ name: figure.name, kept: before.score, now: figure.score, by }] : [];
  });
}
