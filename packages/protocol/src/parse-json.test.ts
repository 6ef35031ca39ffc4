import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isJsonObject } from "./json.ts";
import { DEFAULT_JSON_LIMITS, parseJson } from "./parse-json.ts";
import { refusalOf } from "./refusal-of.ts";

const wideOpen = { maxDepth: 10_000, maxNodes: 10_000_000 };

describe("parseJson", () => {
  test("gives what JSON.parse gives for any JSON within the limits, however it is spaced", () => {
    const json = fc.jsonValue({ stringUnit: "binary", maxDepth: 6 });
    fc.assert(
      fc.property(json, fc.constantFrom(0, 1, "\t", "\r\n "), (value, indent) => {
        const text = JSON.stringify(value, null, indent).replaceAll("\r", "");
        fc.pre(isIJson(text));
        expect(parseJson(text, wideOpen)).toStrictEqual(JSON.parse(text));
      }),
      { numRuns: 500 },
    );
  });

  test("counts exactly the values that JSON.parse makes", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value);
        const nodes = countNodes(JSON.parse(text));
        expect(parseJson(text, { maxDepth: 64, maxNodes: nodes })).toStrictEqual(JSON.parse(text));
        expect(refusalOf(() => parseJson(text, { maxDepth: 64, maxNodes: nodes - 1 }))).toMatchObject({
          rpcCode: -32600,
          httpStatus: 400,
        });
      }),
    );
  });

  test.each(["", "{", '{"a":}', "[1,]", "nul", '"abc', "{'a':1}", "[1] 2", "\u{feff}1", '"\\x"', '"\\', "]"])(
    "answers -32700 and 400 for %j",
    (text) => {
      expect(refusalOf(() => parseJson(text))).toMatchObject({
        kind: "parseError",
        rpcCode: -32700,
        httpStatus: 400,
        message: "Parse error: the body is not valid JSON",
      });
    },
  );

  test("takes 64 levels and refuses 65 with -32600, before anything is built", () => {
    const deepest = "[".repeat(64) + "]".repeat(64);
    expect(parseJson(deepest)).toEqual(JSON.parse(deepest));
    const refusal = refusalOf(() => parseJson("[".repeat(65) + "]".repeat(65)));
    expect(refusal).toMatchObject({ rpcCode: -32600, httpStatus: 400 });
    expect(refusal.message).toBe("Invalid request: the body is nested over 64 levels deep");
    expect(refusalOf(() => parseJson('{"a":'.repeat(200_000))).rpcCode).toBe(-32600);
  });

  test("does not count brackets that are inside strings", () => {
    expect(parseJson(JSON.stringify(["[".repeat(1000), '\\"[[{{,,,::'.repeat(100)]))).toHaveLength(2);
  });

  test("takes 20,000 values and refuses one more with -32600", () => {
    expect(parseJson(list(DEFAULT_JSON_LIMITS.maxNodes - 1))).toHaveLength(19_999);
    expect(refusalOf(() => parseJson(list(DEFAULT_JSON_LIMITS.maxNodes)))).toMatchObject({
      rpcCode: -32600,
      message: "Invalid request: the body has over 20000 values",
    });
  });

  test.each(['"\\ud800"', '["\\udc00\\ud800"]', '{"\\uD83D":1}', '"\\ud83d \\ude00"'])(
    "refuses half of a surrogate pair, as in %s, with -32600",
    (text) => {
      expect(refusalOf(() => parseJson(text))).toMatchObject({ rpcCode: -32600, httpStatus: 400 });
    },
  );

  test("takes a surrogate pair, escaped or not, and an escaped backslash before u", () => {
    expect(parseJson('["\\ud83d\\ude00","😀","\\\\ud800"]')).toStrictEqual(["😀", "😀", "\\ud800"]);
  });

  test("refuses text that was decoded from broken UTF-16", () => {
    expect(refusalOf(() => parseJson('"\ud800"')).rpcCode).toBe(-32700);
  });

  test.each(['{"id":1,"id":2}', '{"a":[{"b":1,"\\u0062":2}]}', '{"__proto__":1,"__proto__":2}'])(
    "refuses a name twice in one object, as in %s, with -32600",
    (text) => {
      expect(refusalOf(() => parseJson(text))).toMatchObject({
        rpcCode: -32600,
        message: "Invalid request: an object has a name twice",
      });
    },
  );

  test("takes the same name in two objects, and as a value", () => {
    const text = '[{"a":{"a":"a"}},{"a":["a","a"],"b":"a"}]';
    expect(parseJson(text)).toStrictEqual(JSON.parse(text));
  });

  test("a client's __proto__, constructor and toString are members like any other and change no prototype", () => {
    const value = parseJson(
      '{"__proto__":{"polluted":true},"constructor":1,"toString":2,"hasOwnProperty":3}',
    );
    expect(isJsonObject(value) && Object.keys(value)).toStrictEqual([
      "__proto__",
      "constructor",
      "toString",
      "hasOwnProperty",
    ]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });
});

function list(length: number): string {
  return JSON.stringify(Array.from({ length }, () => 0));
}

function countNodes(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce((sum: number, inner: unknown) => sum + countNodes(inner), 1);
}

function isIJson(text: string): boolean {
  return text.isWellFormed() && !/\\ud[89a-f]/i.test(text);
}
