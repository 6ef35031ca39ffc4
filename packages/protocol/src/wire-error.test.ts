import { describe, expect, test } from "vitest";
import type { WireError } from "./wire-error.ts";
import { WIRE_ERRORS, wireErrors } from "./wire-error.ts";

const cause = new Error("secret detail");

const cases: [string, WireError, number, number][] = [
  ["parseError", wireErrors.parseError("x"), -32700, 400],
  ["invalidRequest", wireErrors.invalidRequest("x"), -32600, 400],
  ["unauthorized", wireErrors.unauthorized("x", "Bearer"), -32600, 401],
  ["forbidden", wireErrors.forbidden("x"), -32600, 403],
  ["methodNotAllowed", wireErrors.methodNotAllowed(), -32600, 405],
  ["notAcceptable", wireErrors.notAcceptable(), -32600, 406],
  ["requestTimeout", wireErrors.requestTimeout(), -32600, 408],
  ["payloadTooLarge", wireErrors.payloadTooLarge(10), -32600, 413],
  ["unsupportedMediaType", wireErrors.unsupportedMediaType(), -32600, 415],
  ["invalidMeta", wireErrors.invalidMeta("x"), -32602, 400],
  ["headerMismatch", wireErrors.headerMismatch("x"), -32020, 400],
  ["unsupportedVersion", wireErrors.unsupportedVersion("x"), -32022, 400],
  ["methodNotFound", wireErrors.methodNotFound("x"), -32601, 404],
  ["missingCapability", wireErrors.missingCapability({ roots: {} }), -32021, 400],
  ["rateLimited", wireErrors.rateLimited(1), -32603, 429],
  ["invalidParams", wireErrors.invalidParams("x"), -32602, 200],
  ["internal", wireErrors.internal(cause), -32603, 500],
  ["unavailable", wireErrors.unavailable(1), -32603, 503],
];

describe("wire errors", () => {
  test.each(cases)("%s has its JSON-RPC code and HTTP status", (kind, error, ...codes) => {
    expect(error).toMatchObject({ name: "WireError", code: "wire_error", kind });
    expect([error.rpcCode, error.httpStatus]).toStrictEqual(codes);
    expect(error.message).not.toBe("");
  });

  test("every kind of the table has a maker, and is checked here", () => {
    expect(cases.map(([kind]) => kind)).toStrictEqual(Object.keys(WIRE_ERRORS));
    expect(Object.keys(wireErrors).sort()).toStrictEqual([...Object.keys(WIRE_ERRORS), "application"].sort());
  });

  test("a missing capability lists what is required", () => {
    expect(wireErrors.missingCapability({ elicitation: {} })).toMatchObject({
      message: "Missing required client capability",
      data: { requiredCapabilities: { elicitation: {} } },
    });
  });

  test("Retry-After is in whole seconds, rounded up, at least one", () => {
    expect(wireErrors.rateLimited(1001)).toMatchObject({
      headers: { "Retry-After": "2" },
      data: { retryAfterMs: 2000 },
    });
    expect(wireErrors.unavailable(0, cause)).toMatchObject({ headers: { "Retry-After": "1" }, cause });
  });

  test("a challenge goes to WWW-Authenticate", () => {
    expect(wireErrors.unauthorized("x", "Bearer a").headers).toStrictEqual({
      "WWW-Authenticate": "Bearer a",
    });
    expect(wireErrors.forbidden("x", "Bearer b").headers).toStrictEqual({ "WWW-Authenticate": "Bearer b" });
    expect(wireErrors.forbidden("x").headers).toStrictEqual({});
  });

  test("what went wrong inside is kept for the log and not put into the message", () => {
    const error = wireErrors.internal(cause);
    expect(error.cause).toBe(cause);
    expect(error.message).toBe("Internal error");
  });

  test("a legacy client's initialize is told the versions; another unknown method is not echoed", () => {
    expect(wireErrors.methodNotFound("initialize")).toMatchObject({
      message: expect.stringContaining("2026-07-28"),
      data: { supported: ["2026-07-28"] },
    });
    expect(wireErrors.methodNotFound("x".repeat(200)).message).toBe("Method not found");
  });

  test("a tool's own error is answered in-band, but a missing capability is 400 wherever it comes from", () => {
    const own = wireErrors.application({ code: -32603, message: "Broken", data: [1] });
    expect(own).toMatchObject({ kind: "application", rpcCode: -32603, httpStatus: 200, data: [1] });
    expect(wireErrors.application({ code: -32021, message: "Need" }).httpStatus).toBe(400);
  });
});
