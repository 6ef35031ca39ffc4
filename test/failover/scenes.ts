import type { Random } from "./random.ts";

/** What is done with a kind of task. */
interface Cast {
  /** How many of a hundred tasks are of this kind. */
  readonly share: number;
  readonly tool: string;
  readonly args?: (random: Random) => Readonly<Record<string, unknown>>;
  /** What it asks, and its client answers. */
  readonly keys?: readonly string[];
}

/** How a failing task fails. */
const FAILURES = ["tool error", "protocol error", "always", "twice"] as const;

const CASTS = {
  plain: { share: 10, tool: "plain", args: (random) => ({ ms: random.between(10, 400) }) },
  stepped: {
    share: 16,
    tool: "stepped",
    args: (random) => ({ steps: random.between(2, 6), ms: random.between(30, 300) }),
  },
  "one input": { share: 12, tool: "one_input", keys: ["first"] },
  "two inputs": { share: 12, tool: "two_inputs", keys: ["left", "right"] },
  reminded: { share: 8, tool: "reminded", keys: ["late"] },
  sleeping: { share: 10, tool: "sleeping", args: (random) => ({ ms: random.between(100, 3000) }) },
  cancelled: { share: 9, tool: "stepped", args: () => ({ steps: 30, ms: 250 }) },
  "cancelled while it asks": { share: 3, tool: "one_input" },
  outliving: { share: 3, tool: "outliving" },
  forsaken: { share: 4, tool: "forsaken" },
  failing: { share: 6, tool: "failing", args: (random) => ({ how: random.pick(FAILURES) }) },
  fickle: { share: 2, tool: "fickle" },
  large: { share: 2, tool: "large", args: (random) => ({ bytes: random.between(100_000, 400_000) }) },
  waited: { share: 3, tool: "waited", args: (random) => ({ ms: random.between(50, 500) }) },
} as const satisfies Record<string, Cast>;

/** One of the kinds of tasks. */
export type SceneKind = keyof typeof CASTS;

const isKind = (text: string): text is SceneKind => Object.hasOwn(CASTS, text);
const KINDS = Object.keys(CASTS).filter(isKind);
const castOf = (kind: SceneKind): Cast => CASTS[kind];

/** How a client gives its answers. */
export type AnswerStyle = "together" | "apart" | "at once" | "twice";

/** What one client is going to do with one task: all of it follows from the seed. */
export interface Scene {
  readonly index: number;
  readonly kind: SceneKind;
  /** Unique; the tool echoes it. */
  readonly note: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly tenant: string;
  readonly principal: string;
  readonly startsAtMs: number;
  readonly listens: boolean;
  readonly keys: readonly string[];
  readonly style: AnswerStyle;
  /** From seeing a question to the answer. */
  readonly thinkMs: number;
  readonly cancelAfterMs?: number;
  /** After the end: a cancel or an answer that must not count. */
  readonly isLate: boolean;
  readonly random: Random;
}

/** The scenes of a run. */
export function planScenes(random: Random, tasks: number, durationMs: number): Scene[] {
  const kinds = KINDS.flatMap((kind) =>
    Array.from({ length: Math.max(1, Math.round((castOf(kind).share * tasks) / 100)) }, () => kind),
  );
  while (kinds.length < tasks) kinds.push("plain");
  return random.shuffle(kinds).map((kind, index) => {
    const own = random.fork(`scene ${index}`);
    const cast = castOf(kind);
    const note = `note-${index}`;
    return {
      index,
      kind,
      note,
      tool: cast.tool,
      args: { note, ...cast.args?.(own) },
      tenant: `tenant-${own.between(0, 2)}`,
      principal: own.pick(["alice", "bob"]),
      startsAtMs: startOf(kind, own, { at: (index * durationMs) / kinds.length, durationMs }),
      listens: own.chance(0.6),
      keys: cast.keys ?? [],
      style: own.pick(["together", "apart", "at once", "twice"] as const),
      thinkMs: own.chance(0.3) ? 0 : own.between(20, 600),
      ...(kind.startsWith("cancelled") && { cancelAfterMs: own.between(200, 1500) }),
      isLate: own.chance(0.3),
      random: own,
    };
  });
}

/** What expires does so early, so that its removal comes within the run. */
function startOf(
  kind: SceneKind,
  random: Random,
  { at, durationMs }: { at: number; durationMs: number },
): number {
  const isShortLived = kind === "forsaken" || kind === "outliving";
  return isShortLived && durationMs < 120_000 && random.chance(0.6) ? at * 0.08 : at;
}
