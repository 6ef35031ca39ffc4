import { createHash } from "node:crypto";
import { z } from "zod";

/** Any JSON value. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

/**
 * A JSON object. A client names its keys: ask `Object.hasOwn` before reading one, and never write one by
 * assignment (`__proto__` sets a prototype).
 */
export interface JsonObject {
  readonly [key: string]: JsonValue | undefined;
}

/** True for what `JSON.parse` makes of `{…}`. What it holds is not looked at. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Zod's view of {@link isJsonObject}. The parsed value is the object itself, not a copy: no member is lost or renamed. */
export const jsonObject = z.custom<JsonObject>(isJsonObject, "expected an object");

/** The object's own member of that name; `undefined` for one that it only inherits (`constructor`, `toString`). */
export function ownMember(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/**
 * The same text for the same JSON value, whatever the order of its members: keys in the order of their UTF-16 code
 * units, no space, numbers and strings as `JSON.stringify` writes them (RFC 8785). Members that are `undefined` are
 * left out.
 */
export function canonicalJson(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value);
  const members: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`);
  }
  return `{${members.join(",")}}`;
}

/** SHA-256 of the canonical text: 43 characters of base64url. Equal digests mean equal values. */
export function digestOf(value: JsonValue): string {
  return createHash("sha256").update(canonicalJson(value), "utf8").digest("base64url");
}
