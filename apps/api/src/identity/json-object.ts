/** True for a parsed JSON object; false for null, a list and anything else. Read it with `Object.hasOwn`. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
