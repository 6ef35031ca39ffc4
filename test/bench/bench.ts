/*
 * What a bench is. Each measures something of ours next to its anchor, in the same round, and is judged by the ratio of
 * the two: rates drift on a shared machine, a ratio of neighbours holds.
 */

/** One measurement, and that of its anchor a moment before or after. */
export interface Measured {
  readonly ours: number;
  readonly anchor?: number;
  /** Told beside it, and not judged. */
  readonly aside?: Readonly<Record<string, number>>;
}

/** A bound for a figure's score. */
export interface Target {
  readonly kind: "at most" | "at least";
  readonly score: number;
}

/** One row of the table. */
export interface FigureSpec {
  readonly name: string;
  readonly title: string;
  /** Of `ours` and `anchor`. */
  readonly unit: string;
  readonly anchorTitle?: string;
  /** Absent for what is told only. */
  readonly target?: Target;
  /** What the target and the guard look at. Default: ours / anchor, or ours when there is no anchor. */
  readonly scoreOf?: (measured: Measured) => number;
  /** What a score is, for readers. Default "ratio", or the unit when there is no anchor. */
  readonly scoreUnit?: string;
  /** Scores below this are not told apart by the guard: the noise of small numbers. Default 0. */
  readonly guardFloor?: number;
}

/** How long a run may be. */
export interface Pace {
  readonly isQuick: boolean;
  /** How many requests one contender gets in one round. The same for all, however fast they are. */
  readonly requests: number;
  /** How long that may take, in milliseconds. */
  readonly sliceMs: number;
}

/** A bench with all its processes up. */
export interface Session {
  /** Measures every figure of the bench once, by name. */
  round(): Promise<Readonly<Record<string, Measured>>>;
  close(): Promise<void>;
}

/** A bench that was not started. */
export interface Bench {
  readonly name: string;
  readonly figures: readonly FigureSpec[];
  /** Rounds of a whole run and of a quick one, when other than the usual. */
  readonly rounds?: { readonly whole: number; readonly quick: number };
  /** The first round is thrown away unless this is false. */
  readonly warmsUp?: boolean;
  /** Left out of the quick form. */
  readonly isLong?: boolean;
  open(pace: Pace): Promise<Session>;
}

/** The score of one measurement. */
export function scoreOf(spec: Pick<FigureSpec, "scoreOf">, measured: Measured): number {
  if (spec.scoreOf) return spec.scoreOf(measured);
  return measured.anchor === undefined ? measured.ours : measured.ours / measured.anchor;
}
