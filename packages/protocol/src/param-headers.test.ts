import { describe, expect, test } from "vitest";
import { jsonObjectOf } from "./json-object-of.ts";
import type { HeaderReader } from "./headers.ts";
import { checkParamHeaders, type HeaderParam } from "./param-headers.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import { refusalOf } from "./refusal-of.ts";

const region: HeaderParam = { name: "Region", path: ["region"], type: "string" };
const size: HeaderParam = { name: "Size", path: ["size"], type: "integer" };
const dry: HeaderParam = { name: "Dry", path: ["dry"], type: "boolean" };
const nested: HeaderParam = { name: "Nested", path: ["a", "b"], type: "string" };

function sent(headers: Record<string, string | string[]>): HeaderReader {
  return (name) => (Object.hasOwn(headers, name) ? [headers[name] ?? []].flat() : []);
}

function checking(param: HeaderParam, header: string | string[] | undefined, args: JsonObject): () => void {
  const headers = header === undefined ? {} : { [`mcp-param-${param.name.toLowerCase()}`]: header };
  return () => checkParamHeaders(sent(headers), [param], args);
}

describe("checkParamHeaders", () => {
  test.each<[HeaderParam, string | undefined, JsonObject]>([
    [region, "us-west1", { region: "us-west1" }],
    [region, "  us-west1 ", { region: "us-west1" }],
    [region, "=?base64?SGVsbG8=?=", { region: "Hello" }],
    [region, "=?base64?IHBhZGRlZCA=?=", { region: " padded " }],
    [region, "SGVsbG8=", { region: "SGVsbG8=" }],
    [region, "=?base64?SGVsbG8=", { region: "=?base64?SGVsbG8=" }],
    [region, "", { region: "" }],
    [region, undefined, {}],
    [region, undefined, { region: null }],
    [size, "42", { size: 42 }],
    [size, "42.0", { size: 42 }],
    [size, "-7", { size: -7 }],
    [size, "=?base64?NDI=?=", { size: 42 }],
    [dry, "true", { dry: true }],
    [dry, "false", { dry: false }],
    [nested, "x", { a: { b: "x" } }],
    [nested, undefined, { a: {} }],
    [nested, undefined, { a: null }],
    [nested, undefined, { a: "b" }],
  ])("passes %o with header %j and arguments %j", (param, header, args) => {
    expect(checking(param, header, args)).not.toThrow();
  });

  test.each<[HeaderParam, string | string[] | undefined, JsonObject]>([
    [region, undefined, { region: "us-west1" }],
    [region, "eu", { region: "us-west1" }],
    [region, "US-WEST1", { region: "us-west1" }],
    [region, "us-west1", {}],
    [region, "null", { region: null }],
    [region, "", { region: null }],
    [region, ["us-west1", "us-west1"], { region: "us-west1" }],
    [region, "caf\u00e9", { region: "caf\u00e9" }],
    [region, "=?base64?SGVsbG8?=", { region: "Hello" }],
    [region, "=?base64?SGVs!!!bG8=?=", { region: "Hello" }],
    [region, " padded ", { region: " padded " }],
    [size, undefined, { size: 0 }],
    [size, "43", { size: 42 }],
    [size, "42.5", { size: 42 }],
    [size, "0x2a", { size: 42 }],
    [size, "4.2e1", { size: 42 }],
    [size, "", { size: 0 }],
    [size, "forty-two", { size: 42 }],
    [size, "9007199254740993", { size: 9007199254740992 }],
    [size, "1.5", { size: 1.5 }],
    [dry, undefined, { dry: false }],
    [dry, "True", { dry: true }],
    [dry, "1", { dry: true }],
    [nested, undefined, { a: { b: "x" } }],
    [nested, "x", { a: {} }],
  ])(
    "refuses %o with header %j and arguments %j: -32020, 400, and no value in the text",
    (param, header, args) => {
      const refusal = refusalOf(checking(param, header, args));
      expect(refusal).toMatchObject({ rpcCode: -32020, httpStatus: 400 });
      expect(refusal.message).toMatch(/^Header mismatch: Mcp-Param-\w+ [a-zA-Z0-9 ,-]+$/);
    },
  );

  test.each<JsonValue>([["x"], { x: 1 }, 1.5, 2 ** 53])(
    "a value of the wrong kind without a header is left to the arguments' validation: %j",
    (value) => {
      expect(checking(region, undefined, { region: value })).not.toThrow();
    },
  );

  test("a header that no parameter declares is ignored", () => {
    expect(() => checkParamHeaders(sent({ "mcp-param-other": "x" }), [region], {})).not.toThrow();
  });

  test("a value is never read from a prototype", () => {
    const args = jsonObjectOf('{"__proto__":{"region":"us"}}');
    expect(checking(region, undefined, args)).not.toThrow();
    const inherited: JsonObject = Object.create({ region: "us" });
    expect(checking(region, undefined, inherited)).not.toThrow();
  });
});
