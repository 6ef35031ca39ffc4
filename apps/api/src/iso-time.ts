const DAY_MS = 86_400_000;
const day = { startMs: 0, text: "1970-01-01T" };

/**
 * Whole milliseconds since the epoch as `toISOString` writes them. The day's text is kept, for most tasks are of today: to
 * reckon the calendar anew for each time was 2 % of a poll.
 */
export function isoTime(ms: number): string {
  const startMs = ms - (ms % DAY_MS);
  if (startMs !== day.startMs) {
    day.startMs = startMs;
    day.text = new Date(startMs).toISOString().slice(0, 11);
  }
  const inDay = ms - startMs;
  const seconds = Math.trunc(inDay / 1000);
  const minutes = Math.trunc(seconds / 60);
  return `${day.text}${TWO[Math.trunc(minutes / 60)]}:${TWO[minutes % 60]}:${TWO[seconds % 60]}.${THREE[inDay % 1000]}Z`;
}

const digits = (count: number, length: number): readonly string[] =>
  Array.from({ length: count }, (_, number) => String(number).padStart(length, "0"));
const TWO = digits(60, 2);
const THREE = digits(1000, 3);
