/** A number as a reader wants it: three digits that matter, thousands apart. */
export function shown(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString("en-US");
  return value.toFixed(size >= 10 ? 1 : 2);
}
