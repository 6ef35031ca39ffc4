import type { Duration } from "./task-context.ts";

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const TEXT = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** Milliseconds of a {@link Duration}, rounded; undefined when it is none (negative, not finite, another unit). */
export function parseDuration(duration: Duration): number | undefined {
  if (typeof duration === "number") {
    return Number.isFinite(duration) && duration >= 0 ? Math.round(duration) : undefined;
  }
  const [, amount, unit] = TEXT.exec(duration) ?? [];
  return amount === undefined || !isUnit(unit) ? undefined : Math.round(Number(amount) * UNIT_MS[unit]);
}

/** One line for an author who gave `duration` as `what`. */
export function durationProblem(what: string, duration: Duration): string {
  return `${what} is ${JSON.stringify(duration)}, which is no duration: give milliseconds or a number with a unit, as "250ms", "30s", "15m", "2h" or "7d"`;
}

function isUnit(unit: string | undefined): unit is keyof typeof UNIT_MS {
  return unit !== undefined && Object.hasOwn(UNIT_MS, unit);
}
