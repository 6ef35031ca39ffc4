import { isLoopback } from "@perdure/runtime";
import { describe, expect, test } from "vitest";
import { hasScopes } from "./identity.ts";
import { assertLoopback } from "./loopback.ts";
import { createOpenIdentity } from "./open-identity.ts";
import type { Identity } from "./identity.ts";

describe("open mode", () => {
  test.each([undefined, "Bearer nonsense", "Basic YTpi", ["a", "b"]])("lets %j in as local", (header) => {
    expect(createOpenIdentity(["known"]).verify(header)).toEqual({
      verdict: "ok",
      identity: {
        tenant: "local",
        principal: "local",
        scopes: ["known"],
        everyScope: true,
        expiresAtMs: undefined,
      },
    });
  });

  test("lacks no scope", () => {
    const verdict = createOpenIdentity().verify(undefined);
    if (verdict instanceof Promise || verdict.verdict !== "ok") throw new Error("not at once");
    expect(hasScopes(verdict.identity, ["anything"])).toBe(true);
  });
});

test("scopes are compared whole, and a star is a scope like any other", () => {
  const identity: Identity = { tenant: "t", principal: "p", scopes: ["tasks", "*"], expiresAtMs: 0 };
  expect(hasScopes(identity, [])).toBe(true);
  expect(hasScopes(identity, ["tasks"])).toBe(true);
  expect(hasScopes(identity, ["tasks", "tasks:write"])).toBe(false);
  expect(hasScopes(identity, ["constructor"])).toBe(false);
});

test.each(["localhost", "LocalHost", "127.0.0.1", "127.9.9.9", "::1", "[::1]", "0:0:0:0:0:0:0:1"])(
  "%s is loopback",
  (host) => {
    expect(isLoopback(host)).toBe(true);
    expect(() => assertLoopback(host)).not.toThrow();
  },
);

test.each([
  "0.0.0.0",
  "::",
  "",
  "10.0.0.1",
  "localhost.example",
  "127.0.0.1.example",
  "127.1",
  "2130706433",
  "[::1",
  "example.com",
  "fe80::1",
  "fe80::1%lo",
])("%j is not loopback, and open mode refuses it", (host) => {
  expect(isLoopback(host)).toBe(false);
  expect(() => assertLoopback(host)).toThrow(expect.objectContaining({ code: "open_not_loopback" }));
});
