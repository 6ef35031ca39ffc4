import { cpus, loadavg } from "node:os";
import type { Bench, Measured, Pace } from "./bench.ts";
import { toFigure, type Figure, type Figures } from "./figures.ts";
import { create } from "./rows/create.ts";
import { frame } from "./rows/frame.ts";
import { get } from "./rows/get.ts";
import { listener } from "./rows/listener.ts";
import { rest } from "./rows/rest.ts";
import { size } from "./rows/size.ts";
import { takeover } from "./rows/takeover.ts";
import { whole } from "./rows/whole.ts";

/** In the order of the table. */
export const BENCHES: readonly Bench[] = [get, create, whole, frame, listener, size, takeover, rest];

/** What to run. */
export interface RunOptions {
  readonly isQuick: boolean;
  /** A bench's name, or one of its figures'. */
  readonly only?: string;
  readonly rounds?: number;
  readonly command: string;
  readonly say: (line: string) => void;
}

const WHOLE: Pace & { rounds: number } = { isQuick: false, requests: 10_000, sliceMs: 15_000, rounds: 7 };
const QUICK: Pace & { rounds: number } = { isQuick: true, requests: 3000, sliceMs: 4000, rounds: 3 };

/** Runs benches one after another, each with processes of its own, and gives their figures. */
export async function runBenches(options: RunOptions): Promise<Figures> {
  const { isQuick, only, command, say } = options;
  const pace = isQuick ? QUICK : WHOLE;
  const chosen = BENCHES.filter((bench) =>
    only === undefined ? !(isQuick && bench.isLong) : namesOf(bench).includes(only),
  );
  if (chosen.length === 0) {
    throw new Error(`There is no bench "${only}"; there are ${BENCHES.map(({ name }) => name).join(", ")}`);
  }
  const before = loadavg()[0] ?? 0;
  const figures: Figure[] = [];
  for (const bench of chosen) {
    const rounds = options.rounds ?? bench.rounds?.[isQuick ? "quick" : "whole"] ?? pace.rounds;
    figures.push(...(await runOne(bench, { pace, rounds, say })));
  }
  return {
    command,
    at: new Date().toISOString(),
    form: isQuick ? "quick" : "whole",
    machine: {
      cpus: cpus().length,
      model: cpus()[0]?.model ?? "",
      node: process.version,
      load: [before, loadavg()[0] ?? 0],
    },
    figures,
  };
}

const namesOf = (bench: Bench): string[] => [bench.name, ...bench.figures.map(({ name }) => name)];

interface OneRun {
  readonly pace: Pace;
  readonly rounds: number;
  readonly say: (line: string) => void;
}

async function runOne(bench: Bench, { pace, rounds, say }: OneRun): Promise<Figure[]> {
  const startedMs = performance.now();
  say(`${bench.name}: getting ready`);
  const session = await bench.open(pace);
  const measured: Readonly<Record<string, Measured>>[] = [];
  try {
    if (bench.warmsUp !== false) await session.round();
    for (let round = 1; round <= rounds; round += 1) {
      measured.push(await session.round());
      say(`${bench.name}: round ${round} of ${rounds}`);
    }
  } finally {
    await session.close();
  }
  say(`${bench.name}: done in ${Math.round((performance.now() - startedMs) / 1000)} s`);
  return bench.figures.flatMap((spec) => {
    const values = measured.flatMap((round) => round[spec.name] ?? []);
    return values.length === 0 ? [] : [toFigure(spec, values)];
  });
}
