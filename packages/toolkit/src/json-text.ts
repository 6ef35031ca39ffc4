import { isJsonObject } from "./json.ts";
import type { JsonObject } from "./json.ts";

/** A value's JSON text; or what is not JSON in it: `problem` goes behind the name of the value, as `.rows[3] is a function`. */
export type JsonTextReply =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly problem: string };

const MAX_DEPTH = 500;

/**
 * Writes `value` as JSON, and refuses what JSON would silently change: functions, symbols, bigints, NaN and infinities,
 * class instances (a Map would become `{}`), `undefined` in an array, cycles. A property that is `undefined` is left out.
 */
export function jsonText(value: unknown): JsonTextReply {
  const problem = problemIn(value, "", []);
  return problem === undefined ? { ok: true, text: JSON.stringify(value) } : { ok: false, problem };
}

/** JSON with the keys of every object in order: equal values have equal texts. `text` must be JSON. */
export function canonicalJson(text: string): string {
  return JSON.stringify(
    JSON.parse(text, (_key, value: unknown) => (isJsonObject(value) ? inOrder(value) : value)),
  );
}

function inOrder(record: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function problemIn(value: unknown, path: string, above: readonly object[]): string | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined;
    case "number":
      return Number.isFinite(value) ? undefined : `${path} is ${String(value)}`;
    case "object":
      return value === null ? undefined : problemInObject(value, path, above);
    case "undefined":
      return `${path} is undefined`;
    case "bigint":
    case "function":
    case "symbol":
    default:
      return `${path} is a ${typeof value}`;
  }
}

function problemInObject(value: object, path: string, above: readonly object[]): string | undefined {
  if (above.includes(value)) return `${path} contains itself`;
  if (above.length >= MAX_DEPTH) return `${path} is nested deeper than ${MAX_DEPTH} levels`;
  const within = [...above, value];
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const problem = problemIn(item, `${path}[${index}]`, within);
      if (problem !== undefined) return problem;
    }
    return undefined;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype)
    return `${path} is a ${value.constructor.name || "class instance"}, no plain object`;
  for (const [key, item] of Object.entries(value)) {
    const problem = item === undefined ? undefined : problemIn(item, `${path}.${key}`, within);
    if (problem !== undefined) return problem;
  }
  return undefined;
}
