import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { callToolResult } from "./content.ts";
import { hasTasksExtension } from "./capabilities.ts";
import { pageOf } from "./cursor.ts";
import { checkRoutingHeaders, checkVersion } from "./headers.ts";
import { assertInputResponse } from "./input-response.ts";
import { isJsonObject, type JsonValue } from "./json.ts";
import { jsonObjectOf } from "./json-object-of.ts";
import { parseMessage } from "./message.ts";
import { errorText } from "./message-text.ts";
import { checkParamHeaders } from "./param-headers.ts";
import { PARAMS, parseParams, type KnownMethod } from "./params.ts";
import { parseJson } from "./parse-json.ts";
import { parseRequestMeta } from "./request-meta.ts";
import { META } from "./revision.ts";
import { WireError } from "./wire-error.ts";

/** The names that a client would use if it meant harm, or knew the protocol. */
const names = fc.oneof(
  fc.constantFrom(
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "then",
    "id",
    "jsonrpc",
    "method",
    "params",
  ),
  fc.constantFrom(
    "_meta",
    "name",
    "arguments",
    "taskId",
    "taskIds",
    "notifications",
    "inputResponses",
    "cursor",
    "uri",
  ),
  fc.constantFrom("action", "content", "roots", "role", "type", "ref", "argument", ...Object.values(META)),
  fc.string({ unit: "binary", maxLength: 8 }),
);
const scalars = fc.oneof(
  fc.constantFrom<JsonValue>(
    null,
    true,
    0,
    -1,
    1.5,
    1e300,
    "2.0",
    "text",
    "accept",
    "tools/call",
    "2026-07-28",
  ),
  fc.string({ unit: "binary" }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);
/** JSON text with own members of any name, `__proto__` among them. */
const { text: jsonText } = fc.letrec<{ text: string }>((tie) => ({
  text: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalars.map((scalar) => JSON.stringify(scalar)),
    fc.array(tie("text"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
    fc
      .uniqueArray(fc.tuple(names, tie("text")), { maxLength: 6, selector: ([name]) => name })
      .map((members) => `{${members.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(",")}}`),
  ),
}));
const METHODS: KnownMethod[] = [
  "tools/list",
  "tools/call",
  "tasks/get",
  "tasks/update",
  "subscriptions/listen",
  "prompts/get",
  "resources/read",
  "completion/complete",
];
const headerValues = fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.constant("=?base64?x?=")), {
  maxLength: 3,
});

/** What is not as promised about how `act` ended; nothing when it gave a value or a proper {@link WireError}. */
function surprises(act: () => unknown): readonly unknown[] {
  try {
    act();
    return [];
  } catch (error) {
    if (!(error instanceof WireError)) return [error];
    const { message, requestId, rpcCode } = error;
    const isOneLine = message.length < 700 && message.isWellFormed() && !/[\r\n]/.test(message);
    const sent = jsonObjectOf(errorText(requestId, error))["error"];
    return isOneLine && isJsonObject(sent) && sent["code"] === rpcCode ? [] : [message];
  }
}

describe("whatever comes in, nothing but a WireError comes out", () => {
  test("of parseJson, for any text", () => {
    const cut = fc.tuple(jsonText, fc.nat()).map(([text, at]) => text.slice(0, at % (text.length + 1)));
    fc.assert(
      fc.property(fc.oneof(jsonText, cut, fc.string({ unit: "binary" }), fc.string()), (text) => {
        expect(surprises(() => parseJson(text))).toStrictEqual([]);
        expect(surprises(() => parseJson(text, { maxDepth: 2, maxNodes: 5 }))).toStrictEqual([]);
      }),
      { numRuns: 1000 },
    );
  });

  test("of every parser, for any JSON", () => {
    const context = { method: "tools/list", items: ["a"], nameOf: (name: string) => name, pageSize: 1 };
    const headerParams = [{ name: "X", path: ["name", "__proto__"], type: "string" as const }];
    const asked = ["elicitation/create", "sampling/createMessage", "roots/list"];
    fc.assert(
      fc.property(jsonText, headerValues, fc.constantFrom(...METHODS), (text, values, method) => {
        const { value } = jsonObjectOf(`{"value":${text}}`);
        const params = isJsonObject(value) ? value : { value };
        const readHeader = () => values;
        const acts = [
          () => parseMessage(value),
          () => parseRequestMeta(params),
          () => parseRequestMeta({ _meta: value }),
          () => parseParams(PARAMS[method], params),
          () => checkRoutingHeaders(readHeader, method, params),
          () => checkVersion(readHeader, { protocolVersion: text.slice(0, 64), capabilities: params }),
          () => checkParamHeaders(readHeader, headerParams, params),
          () => hasTasksExtension(params),
          () => callToolResult.safeParse(value),
          () => pageOf({ ...context, cursor: text }),
          ...[...asked, text].map(
            (method) => () => assertInputResponse({ key: text, method, response: value }),
          ),
        ];
        expect(acts.flatMap(surprises)).toStrictEqual([]);
      }),
      { numRuns: 1000 },
    );
    expect(Object.keys(Object.prototype)).toStrictEqual([]);
  });

  test("of parseJson, in a moment, for a megabyte of each hostile shape", () => {
    const size = 1_000_000;
    const shapes = [
      "[".repeat(size),
      '{"a":'.repeat(size / 5),
      `"${"\\".repeat(size)}`,
      `"${"\\u0061".repeat(size / 6)}"`,
      `[${"0,".repeat(size / 2)}0]`,
      `{${Array.from({ length: size / 10 }, (_, at) => `"${at}":0`).join(",")}}`,
      `"${"é".repeat(size)}"`,
      ",".repeat(size),
      '"'.repeat(size),
      " ".repeat(size),
    ];
    const startedAt = performance.now();
    expect(shapes.flatMap((shape) => surprises(() => parseJson(shape)))).toStrictEqual([]);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});
