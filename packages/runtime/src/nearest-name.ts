/** The known name that differs from `name` by the fewest single-character edits; none when all are far from it. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const limit = Math.max(2, Math.floor(name.length / 4));
  let best: { readonly name: string; readonly edits: number } | undefined;
  for (const candidate of known) {
    const edits = editsBetween(name, candidate);
    if (edits <= limit && (!best || edits < best.edits)) best = { name: candidate, edits };
  }
  return best?.name;
}

/** Levenshtein's distance, one row at a time. */
function editsBetween(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
