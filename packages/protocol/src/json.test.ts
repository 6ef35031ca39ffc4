import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonObjectOf } from "./json-object-of.ts";
import { canonicalJson, digestOf, isJsonObject, ownMember } from "./json.ts";

describe("canonicalJson", () => {
  test("is JSON of the same value", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (given) => {
        const value = jsonObjectOf(JSON.stringify({ given }));
        expect(JSON.parse(canonicalJson(value))).toStrictEqual(value);
      }),
    );
  });

  test("does not depend on the order of members, at any depth", () => {
    expect(canonicalJson({ b: [{ d: 1, c: null }], a: "é" })).toBe('{"a":"é","b":[{"c":null,"d":1}]}');
    expect(digestOf({ b: 1, a: 2 })).toBe(digestOf({ a: 2, b: 1 }));
    expect(digestOf({ a: 1 })).not.toBe(digestOf({ a: "1" }));
    expect(digestOf([])).not.toBe(digestOf({}));
    expect(digestOf([])).toMatch(/^[\w-]{43}$/);
  });

  test("tells a member named __proto__ from none, and leaves out undefined", () => {
    expect(canonicalJson(jsonObjectOf('{"__proto__":1}'))).toBe('{"__proto__":1}');
    expect(canonicalJson({ a: undefined })).toBe("{}");
  });
});

test("only what JSON.parse makes of braces is an object", () => {
  expect([{}, [], null, "x", 1].map(isJsonObject)).toStrictEqual([true, false, false, false, false]);
});

test.each(["constructor", "toString", "__proto__"])("ownMember does not see an inherited %s", (name) => {
  expect(ownMember({}, name)).toBeUndefined();
  expect(ownMember(jsonObjectOf(`{"${name}":7}`), name)).toBe(7);
});
