import { wireErrors } from "./wire-error.ts";

/** How much structure a body may have. */
export interface JsonLimits {
  /** How many objects and lists may be open at once. */
  readonly maxDepth: number;
  /** How many values there may be: objects, lists and scalars alike. */
  readonly maxNodes: number;
}

/** Far above any honest call, far below what blocks the loop or overflows a stack. */
export const DEFAULT_JSON_LIMITS: JsonLimits = { maxDepth: 64, maxNodes: 20_000 };

/**
 * `JSON.parse` with bounds, for text from outside. One pass over the text comes first, so that nothing is built of a
 * body that goes too far.
 *
 * Throws `parseError` (-32700, 400) for what is not JSON, and `invalidRequest` (-32600, 400) for JSON that we do not
 * take: too deep, too many values, half of a surrogate pair in a string (it has no UTF-8 form, so it could not be
 * stored as it came), or a name twice in one object (a gateway may read the first where we read the last). The last two
 * follow I-JSON (RFC 7493 §2.1, §2.3).
 *
 * `__proto__` becomes an own property like any other: read members with `Object.hasOwn`.
 */
export function parseJson(text: string, limits: JsonLimits = DEFAULT_JSON_LIMITS): unknown {
  if (!text.isWellFormed()) throw notJson();
  const nodes = countWithin(text, limits);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notJson();
  }
  const made = countMade(value, HALF_PAIR.test(text));
  // Of members of one name only the last is made.
  if (made !== nodes) throw wireErrors.invalidRequest("Invalid request: an object has a name twice");
  return value;
}

/** Half of a surrogate pair gets into a well-formed text by an escape alone. */
const HALF_PAIR = /\\u[dD][89a-fA-F]/;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * How many values the text has. It looks at structure alone: at where strings begin and end, and at `{ } [ ] ,`; it reads
 * broken JSON as well as it can and leaves the verdict on it to `JSON.parse`.
 */
function countWithin(text: string, { maxDepth, maxNodes }: JsonLimits): number {
  let depth = 0;
  let nodes = 1;
  /** Right after an opening bracket: anything but its closing one is a first value. */
  let isFirst = false;

  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === 0x20 || char === 0x0a || char === 0x0d || char === 0x09) continue;
    if (isFirst) {
      isFirst = false;
      if (char !== CLOSE_LIST && char !== CLOSE_OBJECT) nodes++;
    }
    if (char === QUOTE) at = stringEnd(text, at);
    else if (char === COMMA) nodes++;
    else if (char === OPEN_LIST || char === OPEN_OBJECT) {
      depth++;
      isFirst = true;
      if (depth > maxDepth) {
        throw wireErrors.invalidRequest(`Invalid request: the body is nested over ${maxDepth} levels deep`);
      }
    } else if (char === CLOSE_LIST || char === CLOSE_OBJECT) depth--;
    if (nodes > maxNodes)
      throw wireErrors.invalidRequest(`Invalid request: the body has over ${maxNodes} values`);
  }
  return nodes;
}

/** Where the string that begins at `start` has its closing quote. Throws `parseError` when it has none. */
function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end >= 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  if (end < 0) throw notJson();
  return end;
}

/** An odd number of backslashes in front. They are within the string: its own quote stops the count. */
function isEscaped(text: string, quote: number): boolean {
  let at = quote;
  while (text.charCodeAt(at - 1) === BACKSLASH) at--;
  return (quote - at) % 2 === 1;
}

/** How many values there are. Throws `invalidRequest` for a string, or a name, with half of a surrogate pair. */
function countMade(value: unknown, mayHaveHalves: boolean): number {
  if (typeof value === "string") {
    if (mayHaveHalves) assertWhole(value);
    return 1;
  }
  if (typeof value !== "object" || value === null) return 1;
  let nodes = 1;
  if (mayHaveHalves) Object.keys(value).forEach(assertWhole);
  for (const inner of Object.values(value)) nodes += countMade(inner, mayHaveHalves);
  return nodes;
}

function assertWhole(text: string): void {
  if (text.isWellFormed()) return;
  throw wireErrors.invalidRequest("Invalid request: a string has half of a surrogate pair");
}

function notJson(): Error {
  return wireErrors.parseError("Parse error: the body is not valid JSON");
}
