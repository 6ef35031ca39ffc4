import { isJsonObject, type JsonObject } from "./json.ts";

/** For tests: the object that a JSON text stands for, with a member named `__proto__` if the text has one. */
export function jsonObjectOf(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value)) throw new Error("not a JSON object");
  return value;
}
