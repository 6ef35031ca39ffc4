import { CliError } from "./cli-error.ts";

const SECONDS = new Map([
  ["s", 1],
  ["m", 60],
  ["h", 3600],
  ["d", 86_400],
]);

/** Seconds of "30s", "15m", "1h" or "7d". Throws a {@link CliError} on anything else. */
export function parseDurationSeconds(text: string): number {
  const match = /^(\d{1,6})([smhd])$/.exec(text);
  const unit = SECONDS.get(match?.[2] ?? "");
  const amount = Number(match?.[1]);
  if (unit === undefined || !(amount > 0)) {
    throw new CliError(`"${text}" is no duration: write a number and a unit, as in 30s, 15m, 1h or 7d`);
  }
  return amount * unit;
}
