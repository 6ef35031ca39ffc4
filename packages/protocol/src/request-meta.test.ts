import { describe, expect, test } from "vitest";
import { jsonObjectOf } from "./json-object-of.ts";
import type { JsonObject } from "./json.ts";
import { refusalOf } from "./refusal-of.ts";
import { parseRequestMeta } from "./request-meta.ts";
import { META } from "./revision.ts";

const required: JsonObject = { [META.protocolVersion]: "2026-07-28", [META.clientCapabilities]: {} };
const traceparent = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";

const key = (name: string): string => `params._meta[${JSON.stringify(name)}]`;

describe("parseRequestMeta", () => {
  test("reads the required fields, and leaves out what is not there", () => {
    expect(parseRequestMeta({ _meta: required })).toStrictEqual({
      protocolVersion: "2026-07-28",
      capabilities: {},
    });
  });

  test("reads every field, passes unknown keys, and keeps the capabilities as they came", () => {
    const capabilities = { elicitation: { form: {}, later: 1 }, extensions: { "a/b": { x: [] } }, other: 5 };
    const meta = parseRequestMeta({
      _meta: {
        [META.protocolVersion]: "1999-01-01",
        [META.clientCapabilities]: capabilities,
        [META.clientInfo]: { name: "client", version: "1", title: "Client" },
        [META.logLevel]: "warning",
        progressToken: 0,
        traceparent,
        tracestate: "a=1",
        "com.example/own": true,
      },
    });
    expect(meta).toStrictEqual({
      protocolVersion: "1999-01-01",
      capabilities,
      clientInfo: { name: "client", version: "1" },
      logLevel: "warning",
      progressToken: 0,
      traceparent,
      tracestate: "a=1",
    });
    expect(meta.capabilities).toBe(capabilities);
  });

  test("a trace context that does not parse is left out and breaks no call", () => {
    const zeros = `00-${"0".repeat(32)}-00f067aa0ba902b7-01`;
    for (const bad of ["", "nonsense", zeros, `ff${traceparent.slice(2)}`, traceparent.toUpperCase()]) {
      const meta = parseRequestMeta({ _meta: { ...required, traceparent: bad, tracestate: "a=1" } });
      expect(meta).not.toHaveProperty("traceparent");
      expect(meta).not.toHaveProperty("tracestate");
    }
  });

  const caps = key(META.clientCapabilities);

  test.each<[string, JsonObject | undefined, string]>([
    ["no params", undefined, "params._meta: expected an object"],
    ["no _meta", {}, "params._meta: expected an object"],
    ["_meta a list", { _meta: [] }, "params._meta: expected an object"],
    [
      "no version",
      { _meta: { [META.clientCapabilities]: {} } },
      `${key(META.protocolVersion)}: expected a string`,
    ],
    ["no capabilities", { _meta: { [META.protocolVersion]: "x" } }, `${caps}: expected an object`],
    [
      "a version that is no string",
      { _meta: { ...required, [META.protocolVersion]: 20260728 } },
      `${key(META.protocolVersion)}: expected a string`,
    ],
    [
      "a huge version",
      { _meta: { ...required, [META.protocolVersion]: "9".repeat(100_000) } },
      `${key(META.protocolVersion)}: expected at most 64 characters`,
    ],
    [
      "capabilities a list",
      { _meta: { ...required, [META.clientCapabilities]: [] } },
      `${caps}: expected an object`,
    ],
    [
      "a capability that is no object",
      { _meta: { ...required, [META.clientCapabilities]: { elicitation: true } } },
      `${caps}.elicitation: expected an object`,
    ],
    [
      "an extension that is no object",
      { _meta: { ...required, [META.clientCapabilities]: { extensions: { "a/b": true } } } },
      `${caps}.extensions["a/b"]: expected an object`,
    ],
    [
      "client info without a version",
      { _meta: { ...required, [META.clientInfo]: { name: "x" } } },
      `${key(META.clientInfo)}.version: expected a string`,
    ],
    [
      "an unknown log level",
      { _meta: { ...required, [META.logLevel]: "loud" } },
      `${key(META.logLevel)}: expected one of debug, info, notice, warning, error, critical, alert, emergency`,
    ],
    [
      "a fractional progress token",
      { _meta: { ...required, progressToken: 1.5 } },
      "params._meta.progressToken: expected an integer or a string of at most 256 characters",
    ],
    [
      "a traceparent that is no string",
      { _meta: { ...required, traceparent: 1 } },
      "params._meta.traceparent: expected a string",
    ],
  ])(
    "refuses %s with -32602 and 400, names the field, and says which versions there are",
    (_, params, problem) => {
      const refusal = refusalOf(() => parseRequestMeta(params));
      expect(refusal).toMatchObject({
        kind: "invalidMeta",
        rpcCode: -32602,
        httpStatus: 400,
        data: { supported: ["2026-07-28"] },
      });
      expect(refusal.message).toContain(`Invalid params: ${problem}`);
      expect(refusal.message.length).toBeLessThan(300);
    },
  );

  test("reads nothing through a prototype that a client names", () => {
    const params = jsonObjectOf(`{"_meta":{"__proto__":${JSON.stringify(required)}}}`);
    expect(refusalOf(() => parseRequestMeta(params)).rpcCode).toBe(-32602);
  });
});
