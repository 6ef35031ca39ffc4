import { setTimeout as delay } from "node:timers/promises";
import type { FaultKind } from "./fault-kinds.ts";
import { type FaultWindow, createLocks, doFault } from "./faults.ts";
import type { Random } from "./random.ts";
import type { Stage } from "./stage.ts";

/** Faults that begin and end with the start of a process take long; they go beside the others. */
const SLOW: ReadonlySet<FaultKind> = new Set(["kill-replica", "kill-worker", "rolling-restart"]);
const TRIES = 3;
/** What costs little is done more often than the quota says; most of all what touches only a few commands. */
const timesOf = (kind: FaultKind, quota: number): number =>
  Math.ceil(quota * (SLOW.has(kind) ? 1 : kind === "lose-replies" ? 3 : 1.5));

/** Which faults, how often, and in which time. */
export interface FaultPlan {
  readonly kinds: readonly FaultKind[];
  readonly quota: number;
  readonly durationMs: number;
}

/**
 * Does each kind of fault at least as often as its quota says, spread over the time, in lanes beside each other, in an order
 * that follows from the seed. One that took no effect is done again, a few times.
 */
export async function doFaults(
  stage: Stage,
  random: Random,
  plan: FaultPlan,
): Promise<readonly FaultWindow[]> {
  const { kinds, quota, durationMs } = plan;
  const windows: FaultWindow[] = [];
  const locks = createLocks();
  const begin = performance.now();

  const lane = async (name: string, inLane: readonly FaultKind[]): Promise<void> => {
    const own = random.fork(name);
    const order = own.shuffle(inLane);
    for (const [at, kind] of order.entries()) {
      // Jittered, so that faults of different lanes meet in all ways.
      const due = ((at + own.next()) * durationMs) / order.length;
      await delay(Math.max(0, due - (performance.now() - begin)));
      for (let tries = 0; tries < TRIES; tries += 1) {
        const window = await doFault(kind, { stage, random: own.fork(`${at} ${tries}`), locks });
        windows.push(window);
        if (window.tookEffect) break;
      }
    }
  };
  const planned = kinds.flatMap((kind) =>
    Array.from({ length: timesOf(kind, quota) }, (_, time) => ({ kind, time })),
  );
  const laneOf = ({ kind, time }: { kind: FaultKind; time: number }): string =>
    SLOW.has(kind) ? "slow" : `quick ${time % 2}`;
  const lanes = Map.groupBy(planned, laneOf);
  await Promise.all(
    [...lanes].map(([name, faults]) =>
      lane(
        name,
        faults.map(({ kind }) => kind),
      ),
    ),
  );
  return windows;
}
