import type { Log } from "./log.ts";

const SAME_AGAIN_AFTER_MS = 30_000;
const KEPT = 100;

/**
 * A listener for a connection's errors: an outage gives the same one over and over, and each is logged once in 30 s with
 * how often it came meanwhile. `what` begins the line.
 */
export function reportTrouble(log: Log, what: string): (error: Error) => void {
  const seen = new Map<string, { atMs: number; times: number }>();
  return (error) => {
    const nowMs = performance.now();
    const last = seen.get(error.message);
    if (last && nowMs - last.atMs < SAME_AGAIN_AFTER_MS) {
      last.times += 1;
      return;
    }
    log.warn({ err: error, ...(last && last.times > 0 ? { timesSinceLast: last.times } : {}) }, what);
    if (seen.size >= KEPT) seen.clear();
    seen.set(error.message, { atMs: nowMs, times: 0 });
  };
}
