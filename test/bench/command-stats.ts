import type { Redis } from "ioredis";

/** Calls and microseconds of each command since the server began, those inside of scripts too. */
export type CommandStats = ReadonlyMap<string, { readonly calls: number; readonly microseconds: number }>;

const LINE = /^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/gm;

/** Reads `INFO commandstats`. */
export async function readCommandStats(redis: Redis): Promise<CommandStats> {
  const text = await redis.info("commandstats");
  return new Map(
    [...text.matchAll(LINE)].map(([, name = "", calls, microseconds]) => [
      name,
      { calls: Number(calls), microseconds: Number(microseconds) },
    ]),
  );
}

/** What was called between two readings, but for `info`, which is the reading itself. Commands that were not called are left out. */
export function callsBetween(before: CommandStats, after: CommandStats): CommandStats {
  const between = new Map<string, { calls: number; microseconds: number }>();
  for (const [name, { calls, microseconds }] of after) {
    const was = before.get(name) ?? { calls: 0, microseconds: 0 };
    if (name !== "info" && calls > was.calls) {
      between.set(name, { calls: calls - was.calls, microseconds: microseconds - was.microseconds });
    }
  }
  return between;
}
