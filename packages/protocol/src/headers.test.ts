import { describe, expect, test } from "vitest";
import {
  checkRoutingHeaders,
  checkVersion,
  decodeHeaderValue,
  singleHeader,
  type HeaderReader,
} from "./headers.ts";
import { refusalOf } from "./refusal-of.ts";

const MISMATCH = { kind: "headerMismatch", rpcCode: -32020, httpStatus: 400 };
const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString("base64")}?=`;

/** A request's headers, as `headersDistinct` gives them. */
function sent(headers: Record<string, string | string[]>): HeaderReader {
  const all = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value].flat()]));
  return (name) => all.get(name) ?? [];
}

describe("checkVersion", () => {
  const meta = { protocolVersion: "2026-07-28", capabilities: {} };

  test("passes when the header says what the body says, whatever the spaces around it", () => {
    expect(() => checkVersion(sent({ "MCP-Protocol-Version": " 2026-07-28\t" }), meta)).not.toThrow();
  });

  test.each([
    ["missing", {}, "Header mismatch: MCP-Protocol-Version is missing"],
    [
      "sent twice",
      { "MCP-Protocol-Version": ["2026-07-28", "2026-07-28"] },
      "MCP-Protocol-Version was sent more than once",
    ],
    ["empty", { "MCP-Protocol-Version": "" }, 'value "" does not match body value "2026-07-28"'],
    [
      "another",
      { "MCP-Protocol-Version": "2025-11-25" },
      'value "2025-11-25" does not match body value "2026-07-28"',
    ],
    ["padded inside", { "MCP-Protocol-Version": "2026 -07-28" }, "does not match"],
    ["joined", { "MCP-Protocol-Version": "2026-07-28, 2026-07-28" }, "does not match"],
  ])("refuses a header that is %s with -32020 and 400", (_, headers, problem) => {
    const refusal = refusalOf(() => checkVersion(sent(headers), meta));
    expect(refusal).toMatchObject(MISMATCH);
    expect(refusal.message).toContain(problem);
  });

  test("refuses a version that it does not speak with -32022, 400, and both lists", () => {
    const old = { protocolVersion: "1900-01-01", capabilities: {} };
    expect(refusalOf(() => checkVersion(sent({ "MCP-Protocol-Version": "1900-01-01" }), old))).toMatchObject({
      rpcCode: -32022,
      httpStatus: 400,
      message: "Unsupported protocol version",
      data: { supported: ["2026-07-28"], requested: "1900-01-01" },
    });
  });

  test("a header that disagrees is told before a version that is not spoken", () => {
    const old = { protocolVersion: "1900-01-01", capabilities: {} };
    expect(refusalOf(() => checkVersion(sent({ "MCP-Protocol-Version": "2026-07-28" }), old)).rpcCode).toBe(
      -32020,
    );
  });
});

describe("checkRoutingHeaders", () => {
  test.each([
    ["tools/call", { name: "greet" }, "greet"],
    ["prompts/get", { name: "a prompt" }, "a prompt"],
    ["resources/read", { uri: "test://a" }, "test://a"],
    ["tasks/get", { taskId: "t1" }, "t1"],
    ["tasks/update", { taskId: "t1" }, "t1"],
    ["tasks/cancel", { taskId: "t1" }, "t1"],
  ])(
    "%s needs its Mcp-Name: equal passes, encoded passes, absent or other is -32020",
    (method, params, name) => {
      const check = (header: Record<string, string>) => () =>
        checkRoutingHeaders(sent({ "Mcp-Method": method, ...header }), method, params);
      expect(check({ "Mcp-Name": `  ${name} ` })).not.toThrow();
      expect(check({ "Mcp-Name": base64(name) })).not.toThrow();
      expect(refusalOf(check({}))).toMatchObject({
        ...MISMATCH,
        message: "Header mismatch: Mcp-Name is missing",
      });
      expect(refusalOf(check({ "Mcp-Name": `${name}x` }))).toMatchObject(MISMATCH);
      expect(refusalOf(check({ "Mcp-Name": name.toUpperCase() }))).toMatchObject(MISMATCH);
    },
  );

  test("a method about nothing needs no Mcp-Name and ignores one", () => {
    expect(() => checkRoutingHeaders(sent({ "Mcp-Method": "tools/list" }), "tools/list", {})).not.toThrow();
    const stray = sent({ "Mcp-Method": "tools/list", "Mcp-Name": "x" });
    expect(() => checkRoutingHeaders(stray, "tools/list", {})).not.toThrow();
    expect(() => checkRoutingHeaders(sent({ "Mcp-Method": "toString" }), "toString", {})).not.toThrow();
  });

  test.each([
    ["missing", {}],
    ["another method", { "Mcp-Method": "prompts/list" }],
    ["another case", { "Mcp-Method": "TOOLS/LIST" }],
    ["sent twice", { "Mcp-Method": ["tools/list", "tools/list"] }],
    ["Base64, which only names may be", { "Mcp-Method": base64("tools/list") }],
  ])("refuses an Mcp-Method that is %s with -32020", (_, headers) => {
    expect(refusalOf(() => checkRoutingHeaders(sent(headers), "tools/list", {}))).toMatchObject(MISMATCH);
  });

  test("a name outside ASCII comes in Base64", () => {
    const headers = sent({ "Mcp-Method": "tools/call", "Mcp-Name": base64("世界") });
    expect(() => checkRoutingHeaders(headers, "tools/call", { name: "世界" })).not.toThrow();
  });

  test("a body whose own name is no string is left to the params", () => {
    const headers = sent({ "Mcp-Method": "tools/call", "Mcp-Name": "greet" });
    for (const params of [undefined, {}, { name: 5 }]) {
      expect(() => checkRoutingHeaders(headers, "tools/call", params)).not.toThrow();
    }
  });

  test("never echoes more than a little of what a client sent", () => {
    const headers = sent({ "Mcp-Method": "tools/call", "Mcp-Name": "x".repeat(100_000) });
    const refusal = refusalOf(() =>
      checkRoutingHeaders(headers, "tools/call", { name: "y".repeat(100_000) }),
    );
    expect(refusal.message.length).toBeLessThan(300);
  });
});

describe("a header's value", () => {
  test.each(["caf\u00e9", "a\u0000b", "a\rb", "a\nb", "a\u007fb", "世"])(
    "with the characters of %j is refused",
    (value) => {
      expect(refusalOf(() => singleHeader(sent({ "Mcp-Name": value }), "Mcp-Name"))).toMatchObject(MISMATCH);
    },
  );

  test.each([
    ["us-west1", "us-west1"],
    ["=?base64?SGVsbG8sIOS4lueVjA==?=", "Hello, 世界"],
    ["=?base64?IHBhZGRlZCA=?=", " padded "],
    ["=?base64?bGluZTEKbGluZTI=?=", "line1\nline2"],
    ["=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "=?base64?literal?="],
    ["=?base64??=", ""],
    ["=?base64?=", "=?base64?="],
    ["=?base64?SGVsbG8=", "=?base64?SGVsbG8="],
    ["SGVsbG8=?=", "SGVsbG8=?="],
    ["=?BASE64?SGVsbG8=?=", "=?BASE64?SGVsbG8=?="],
  ])("%s stands for %j", (value, text) => {
    expect(decodeHeaderValue("Mcp-Name", value)).toBe(text);
  });

  test.each([
    ["without its padding", "=?base64?SGVsbG8?="],
    ["outside the alphabet", "=?base64?SGVs!!!bG8=?="],
    ["of the URL alphabet", "=?base64?_-8=?="],
    ["with spare bits set", "=?base64?SGVsbG9=?="],
    ["of broken UTF-8", "=?base64?/w==?="],
    ["with a space", "=?base64?SGVs bG8=?="],
  ])("in Base64 %s is refused with -32020", (_, value) => {
    expect(refusalOf(() => decodeHeaderValue("Mcp-Name", value))).toMatchObject(MISMATCH);
  });
});
