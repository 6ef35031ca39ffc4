import { setTimeout as delay } from "node:timers/promises";

/** How often and for how long. */
export interface Paced {
  readonly perSecond: number;
  readonly seconds: number;
}

const TICK_MS = 5;

/** Does one thing at an even pace, whether or not the last one is done, and waits for all in the end. */
export async function doPaced(
  { perSecond, seconds }: Paced,
  doOne: (index: number) => Promise<unknown>,
): Promise<void> {
  const startedMs = performance.now();
  const under: Promise<unknown>[] = [];
  const total = perSecond * seconds;
  while (under.length < total) {
    const dueNow = Math.min(total, Math.floor(((performance.now() - startedMs) / 1000) * perSecond));
    while (under.length < dueNow) under.push(doOne(under.length));
    await delay(TICK_MS);
  }
  await Promise.all(under);
}
