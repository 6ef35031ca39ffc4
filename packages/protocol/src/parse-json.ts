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
  assertWithin(text, limits);
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    throw notJson();
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Names seen in each open object; `undefined` for an open list. */
type Open = Set<string> | undefined;

/**
 * Looks at structure alone: where strings begin and end, and at `{ } [ ] , :`. It reads broken JSON as well as it can
 * and leaves the verdict on it to `JSON.parse`.
 */
function assertWithin(text: string, { maxDepth, maxNodes }: JsonLimits): void {
  const open: Open[] = [];
  let nodes = 1;
  /** Right after an opening bracket: anything but its closing one is a first value. */
  let isFirst = false;
  /** In an object, where a name is due. */
  let nameIsNext = false;

  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === 0x20 || char === 0x0a || char === 0x0d || char === 0x09) continue;
    if (isFirst) {
      isFirst = false;
      if (char !== CLOSE_LIST && char !== CLOSE_OBJECT) nodes++;
    }
    switch (char) {
      case QUOTE: {
        const end = stringEnd(text, at);
        const names = nameIsNext ? open.at(-1) : undefined;
        const content = checkedString(text.slice(at, end + 1), names !== undefined);
        if (names?.has(content))
          throw wireErrors.invalidRequest("Invalid request: an object has a name twice");
        names?.add(content);
        nameIsNext = false;
        at = end;
        break;
      }
      case OPEN_LIST:
      case OPEN_OBJECT:
        open.push(char === OPEN_OBJECT ? new Set() : undefined);
        if (open.length > maxDepth) {
          throw wireErrors.invalidRequest(`Invalid request: the body is nested over ${maxDepth} levels deep`);
        }
        isFirst = true;
        nameIsNext = char === OPEN_OBJECT;
        break;
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        open.pop();
        nameIsNext = false;
        break;
      case COMMA:
        nodes++;
        nameIsNext = open.at(-1) !== undefined;
        break;
      case COLON:
        nameIsNext = false;
        break;
    }
    if (nodes > maxNodes)
      throw wireErrors.invalidRequest(`Invalid request: the body has over ${maxNodes} values`);
  }
}

/** Where the string that begins at `start` has its closing quote. Throws `parseError` when it has none. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) return at;
    if (char === BACKSLASH) at++;
  }
  throw notJson();
}

/** A string literal's content if it has escapes or is wanted, checked for half a surrogate pair. */
function checkedString(literal: string, isWanted: boolean): string {
  if (!literal.includes("\\")) return isWanted ? literal.slice(1, -1) : "";
  if (!isWanted && !/\\u[dD][89a-fA-F]/.test(literal)) return "";
  let content: unknown;
  try {
    content = JSON.parse(literal);
  } catch {
    throw notJson();
  }
  if (typeof content !== "string") throw notJson();
  if (!content.isWellFormed()) {
    throw wireErrors.invalidRequest("Invalid request: a string has half of a surrogate pair");
  }
  return content;
}

function notJson(): Error {
  return wireErrors.parseError("Parse error: the body is not valid JSON");
}
