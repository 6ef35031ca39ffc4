import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonObjectOf } from "./json-object-of.ts";
import { refusalOf } from "./refusal-of.ts";
import { MAX_STATE_LENGTH, createStateSeal, requestDigest, type StateBinding } from "./state-seal.ts";

const oldKey = "an old key that is long enough, 32+";
const newKey = "a new key that is long enough, 32+!";
const binding: StateBinding = {
  tenant: "acme",
  principal: "alice",
  method: "tools/call",
  digest: requestDigest({ name: "greet", arguments: { name: "x" } }),
};
const clock = { nowMs: 1_000_000 };
const now = (): number => clock.nowMs;
const seal = createStateSeal({ keys: [newKey, oldKey], now });

describe("the requestState seal", () => {
  test("opens what it sealed, for the same caller and request, on any replica with the key", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (payload) => {
        const value = jsonObjectOf(JSON.stringify({ payload }));
        const text = seal.seal(value, binding, 1000);
        expect(text).toMatch(/^[\w-]+$/);
        const replica = createStateSeal({ keys: [newKey], now });
        expect(replica.open(text, { ...binding })).toStrictEqual({ verdict: "open", value });
      }),
    );
  });

  test("refuses a text with any one character changed, added or taken away", () => {
    const text = seal.seal({ a: "some state" }, binding, 1000);
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (let at = 0; at < text.length; at++) {
      const [before, after] = [text.slice(0, at), text.slice(at + 1)];
      expect(seal.open(before + after, binding)).toStrictEqual({ verdict: "invalid" });
      for (const other of [...alphabet.split(""), "=", "+", " ", "é"].filter((char) => char !== text[at])) {
        expect(seal.open(before + other + after, binding)).toStrictEqual({ verdict: "invalid" });
      }
    }
    for (const extra of ["A", "=", "==", "\n", " "]) {
      expect(seal.open(text + extra, binding)).toStrictEqual({ verdict: "invalid" });
    }
  });

  test("gives one verdict on whatever garbage", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: "binary" }), fc.base64String(), fc.string({ maxLength: 400 })),
        (text) => {
          expect(seal.open(text, binding)).toStrictEqual({ verdict: "invalid" });
        },
      ),
    );
    expect(seal.open("A".repeat(10_000_000), binding)).toStrictEqual({ verdict: "invalid" });
  });

  test.each<Partial<StateBinding>>([
    { tenant: "other" },
    { principal: "bob" },
    { method: "prompts/get" },
    { digest: requestDigest({ name: "greet", arguments: { name: "y" } }) },
    { digest: requestDigest({ name: "other", arguments: { name: "x" } }) },
  ])("does not open for %j", (other) => {
    const text = seal.seal("state", binding, 1000);
    expect(seal.open(text, { ...binding, ...other })).toStrictEqual({ verdict: "mismatch" });
  });

  test("parts of a binding cannot be moved from one field to the next", () => {
    const text = seal.seal("state", { ...binding, tenant: "ab", principal: "c" }, 1000);
    expect(seal.open(text, { ...binding, tenant: "a", principal: "bc" })).toStrictEqual({
      verdict: "mismatch",
    });
  });

  test("lapses after its time, to the millisecond", () => {
    const text = seal.seal("state", binding, 1000);
    clock.nowMs += 999;
    expect(seal.open(text, binding).verdict).toBe("open");
    clock.nowMs += 1;
    expect(seal.open(text, binding)).toStrictEqual({ verdict: "expired" });
  });

  test("while keys rotate, the old one opens; once it is gone, it does not", () => {
    const text = createStateSeal({ keys: [oldKey], now }).seal("state", binding, 1000);
    expect(seal.open(text, binding).verdict).toBe("open");
    expect(createStateSeal({ keys: [newKey], now }).open(text, binding)).toStrictEqual({
      verdict: "invalid",
    });
    const fresh = seal.seal("state", binding, 1000);
    expect(createStateSeal({ keys: [newKey], now }).open(fresh, binding).verdict).toBe("open");
  });

  test("says nothing of the state, the caller or the request, and never the same twice", () => {
    const text = seal.seal({ secret: "hunter2" }, binding, 1000);
    const bytes = Buffer.from(text, "base64url").toString("latin1");
    for (const part of ["hunter2", "acme", "alice", "greet"]) expect(bytes).not.toContain(part);
    expect(seal.seal({ secret: "hunter2" }, binding, 1000)).not.toBe(text);
  });

  test("refuses to make a text that it would not open, as answers of a client may be what is too large", () => {
    const refusal = refusalOf(() => seal.seal("x".repeat(MAX_STATE_LENGTH), binding, 1000));
    expect(refusal).toMatchObject({ kind: "invalidParams", httpStatus: 200, rpcCode: -32602 });
    expect(seal.open(seal.seal("x".repeat(48_000), binding, 1000), binding).verdict).toBe("open");
  });

  test("takes no short key", () => {
    expect(() => createStateSeal({ keys: ["short"], now })).toThrow(RangeError);
    expect(() => createStateSeal({ keys: [newKey, "short"], now })).toThrow("a key has under 32 characters");
  });
});

describe("requestDigest", () => {
  test("is the same for a request and its retry, in whatever order members come", () => {
    const first = { name: "greet", arguments: { a: 1, b: [1, 2] }, _meta: { progressToken: 1 } };
    const retry = {
      requestState: "s",
      inputResponses: { key: { action: "accept" } },
      arguments: { b: [1, 2], a: 1 },
      _meta: {},
      name: "greet",
    };
    expect(requestDigest(retry)).toBe(requestDigest(first));
    expect(requestDigest({ ...first, arguments: { a: 1, b: [2, 1] } })).not.toBe(requestDigest(first));
  });
});
