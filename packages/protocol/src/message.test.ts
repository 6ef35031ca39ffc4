import { describe, expect, test } from "vitest";
import { parseMessage } from "./message.ts";
import { parseJson } from "./parse-json.ts";
import { refusalOf } from "./refusal-of.ts";

const call = { jsonrpc: "2.0", id: 1, method: "tools/list" };

describe("parseMessage", () => {
  test.each([0, 1, -7, Number.MAX_SAFE_INTEGER, "", "a", "x".repeat(256)])("takes the id %j", (id) => {
    expect(parseMessage({ ...call, id, params: { a: 1 } })).toStrictEqual({
      kind: "request",
      id,
      method: "tools/list",
      params: { a: 1 },
    });
  });

  test.each([null, 1.5, 2 ** 53, true, {}, [], "x".repeat(257), "x".repeat(1_000_000)])(
    "refuses a bad id with -32600 and does not echo it",
    (id) => {
      const refusal = refusalOf(() => parseMessage({ ...call, id }));
      expect(refusal).toMatchObject({ rpcCode: -32600, httpStatus: 400, requestId: undefined });
      expect(refusal.message).toBe(
        "Invalid request: id: expected an integer or a string of at most 256 characters",
      );
    },
  );

  test("a message without an id is a notification, even one that we do not know", () => {
    expect(parseMessage({ jsonrpc: "2.0", method: "notifications/cancelled" })).toStrictEqual({
      kind: "notification",
      method: "notifications/cancelled",
      params: undefined,
    });
  });

  test.each([
    [[call], "batches are not supported"],
    [[], "batches are not supported"],
    [null, "expected a JSON-RPC object"],
    ["hello", "expected a JSON-RPC object"],
    [7, "expected a JSON-RPC object"],
    [{ jsonrpc: "2.0", id: 1, result: {} }, "responses are not accepted"],
    [{ jsonrpc: "2.0", id: 1, error: { code: 1, message: "" } }, "responses are not accepted"],
  ])("refuses %j with -32600 and without an id", (value, problem) => {
    expect(refusalOf(() => parseMessage(value))).toMatchObject({
      rpcCode: -32600,
      httpStatus: 400,
      message: `Invalid request: ${problem}`,
      requestId: undefined,
    });
  });

  test.each([
    [{ id: 1, method: "a" }, 'jsonrpc: expected "2.0"'],
    [{ ...call, jsonrpc: "1.0" }, 'jsonrpc: expected "2.0"'],
    [{ ...call, jsonrpc: 2 }, 'jsonrpc: expected "2.0"'],
    [{ jsonrpc: "2.0", id: 1 }, "method: expected a string"],
    [{ ...call, method: 5 }, "method: expected a string"],
    [{ ...call, method: "" }, "method: expected 1 to 256 characters"],
    [{ ...call, method: "m".repeat(257) }, "method: expected 1 to 256 characters"],
    [{ ...call, params: [] }, "params: expected an object"],
    [{ ...call, params: null }, "params: expected an object"],
    [{ ...call, params: "x" }, "params: expected an object"],
  ])("refuses %j with -32600 under the id that could be read", (value, problem) => {
    expect(refusalOf(() => parseMessage(value))).toMatchObject({
      rpcCode: -32600,
      httpStatus: 400,
      message: `Invalid request: ${problem}`,
      requestId: 1,
    });
  });

  test("reads no member that an object only inherits", () => {
    const text = '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"tools/list"}}';
    expect(refusalOf(() => parseMessage(parseJson(text))).rpcCode).toBe(-32600);
  });
});
