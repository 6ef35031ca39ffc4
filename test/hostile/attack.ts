import * as fc from "fast-check";
import { usualMeta } from "./replica-bench.ts";

/*
 * Requests that know the schemas: a proper one of some method, then changed a few times, in its value, in its text and in
 * its headers. Everything is made of numbers and texts, so that a seed gives the same attack again and shrinks it.
 */

/** One request. */
export interface Attack {
  readonly method: string;
  /** Of the whole message. */
  readonly bodyText: string;
  /** Name and value, in order, as they are sent; latin1. Without host, length and token. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Which of the attackers sends it; -1 sends no good token. */
  readonly attacker: number;
}

/** Ids of tasks that an attacker may name: its own and, above all, those of others. */
export interface Targets {
  readonly taskIds: readonly string[];
}

type Value = null | boolean | number | string | Value[] | { [name: string]: Value };

const NAMES = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "length",
  "then",
  "",
  "*",
  "a b",
  "é",
  "x\0y",
];
const TOOLS =
  `about greet slow_compute confirm_delete multi_input failing_job protocol_error_job test_header_param
json_schema_2020_12_tool test_tool_with_task test_missing_capability brief_call test_simple_text test_tool_with_progress
test_input_required_result_elicitation test_input_required_result_multiple_inputs test_input_required_result_request_state
generate_report keep_question`.split(/\s+/);
const PROMPTS = ["test_simple_prompt", "test_prompt_with_arguments", "test_input_required_result_prompt"];
const URIS = [
  "test://static-text",
  "test://template/7/data",
  "test://template/%E0%A4%A/data",
  "test://template/../data",
  "file:///etc/passwd",
];
const KEYS = ["confirm", "name", "user_name", "approve_outline", "step1", "client_roots", "capital_question"];
const NUMBERS = [0, -1, 1.5, 1e308, -1e308, 2 ** 53, 5e-324];
const TEXTS = [
  "",
  " ",
  "\0",
  "\u2028",
  "😀",
  "\ufeff",
  "a:b",
  "../..",
  "{}",
  "null",
  "x".repeat(300),
  "x".repeat(70_000),
];
const DEEP: Value = { a: { b: { c: { d: [[[[[[]]]]]] } } } };
const LONG: Value = Array.from({ length: 2000 }, () => 0);
const WIDE: Value = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`k${n}`, n]));
const EXTREMES: readonly Value[] = [
  null,
  true,
  false,
  [],
  {},
  DEEP,
  LONG,
  WIDE,
  ...NUMBERS,
  ...TEXTS,
  ...NAMES,
];

const extreme = fc.constantFrom(...EXTREMES);
const someText = fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.constantFrom(...NAMES));
const key = fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...KEYS) }, { weight: 1, arbitrary: someText });
const answer = fc.oneof(
  fc.record({
    action: fc.constantFrom("accept", "decline", "cancel", "x"),
    content: fc.dictionary(key, fc.oneof(fc.boolean(), someText)),
  }),
  fc.record({ roots: fc.array(fc.record({ uri: someText })) }),
  fc.record({
    role: fc.constant("assistant"),
    model: someText,
    content: fc.record({ type: fc.constant("text"), text: someText }),
  }),
);
const answers = fc.dictionary(key, answer);
const args = fc.oneof(
  fc.record(
    {
      name: someText,
      filename: someText,
      region: someText,
      seconds: fc.oneof(fc.constantFrom(0, 0.1, -1, 1e9), fc.double()),
      label: someText,
      size: fc.constantFrom("small", "large", "x"),
      secret: someText,
    },
    { requiredKeys: [] },
  ),
  fc.dictionary(key, fc.jsonValue()),
) as fc.Arbitrary<object>;
const state = fc.oneof(
  fc.base64String({ maxLength: 200 }),
  fc.constantFrom("AQ", "Ab_zRz0", "x".repeat(66_000)),
);

/** Proper params of every method, by its name. */
function paramsOf({ taskIds }: Targets): Readonly<Record<string, fc.Arbitrary<object>>> {
  const taskId = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...taskIds) },
    { weight: 1, arbitrary: someText },
  );
  const named = (names: readonly string[]): fc.Arbitrary<string> =>
    fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: someText });
  const retried = { inputResponses: answers, requestState: state };
  const cursor = fc.record({ cursor: fc.oneof(state, someText) }, { requiredKeys: [] });
  return {
    "server/discover": fc.constant({}),
    "tools/list": cursor,
    "prompts/list": cursor,
    "resources/list": cursor,
    "resources/templates/list": cursor,
    "tools/call": fc.record({ name: named(TOOLS), arguments: args, ...retried }, { requiredKeys: ["name"] }),
    "prompts/get": fc.record(
      {
        name: named(PROMPTS),
        arguments: fc.dictionary(fc.oneof(fc.constantFrom("arg1", "arg2"), key), someText),
        ...retried,
      },
      { requiredKeys: ["name"] },
    ),
    "resources/read": fc.record({ uri: named(URIS), ...retried }, { requiredKeys: ["uri"] }),
    "completion/complete": fc.record(
      {
        ref: fc.oneof(
          fc.record({ type: fc.constant("ref/prompt"), name: named(PROMPTS) }),
          fc.record({ type: fc.constant("ref/resource"), uri: named(URIS) }),
        ),
        argument: fc.record({ name: fc.oneof(fc.constantFrom("arg1", "id"), key), value: someText }),
        context: fc.record({ arguments: fc.dictionary(key, someText) }),
      },
      { requiredKeys: ["ref", "argument"] },
    ),
    "tasks/get": fc.record({ taskId }),
    "tasks/update": fc.record({ taskId, inputResponses: answers }),
    "tasks/cancel": fc.record({ taskId }),
    "tasks/list": cursor,
    "tasks/result": fc.record({ taskId }),
    "subscriptions/listen": fc.record({
      notifications: fc.record(
        {
          taskIds: fc.array(taskId, { maxLength: 12 }),
          toolsListChanged: fc.boolean(),
          resourceSubscriptions: fc.array(someText),
        },
        { requiredKeys: [] },
      ),
    }),
    initialize: fc.record({ protocolVersion: someText }),
    "notifications/cancelled": fc.record({ requestId: fc.oneof(fc.integer(), someText) }),
  };
}

interface Change {
  readonly kind: "drop" | "replace" | "rename" | "nest" | "wrap" | "double" | "add";
  /** Which of the message's places, as a share of them all. */
  readonly at: number;
  readonly value: Value;
  readonly name: string;
}

const change: fc.Arbitrary<Change> = fc.record({
  kind: fc.constantFrom("drop", "replace", "rename", "nest", "wrap", "double", "add"),
  at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  value: extreme,
  name: fc.constantFrom(...NAMES, ...KEYS, "id", "method", "params", "_meta", "name", "taskId"),
});

/** What is done to the text at the end. */
const textChange = fc.oneof(
  { weight: 12, arbitrary: fc.constant(undefined) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("cut", "insert", "twice", "escape", "huge", "batch", "bom", "number"),
      at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      insert: fc.constantFrom(
        '"',
        "{",
        "}",
        "[",
        ",",
        "\\",
        "\\ud800",
        "\\u0000",
        "1e999",
        "\u0000",
        "é",
        "//",
      ),
    }),
  },
);

const headerChange = fc.record({
  kind: fc.constantFrom("drop", "double", "replace", "pad", "other"),
  which: fc.nat(8),
  value: fc.oneof(
    fc.constantFrom(
      "",
      " ",
      "x",
      "tools/call",
      "2025-11-25",
      "=?base64?!?=",
      "=?base64?eA==?=",
      "text/plain",
      "*/*",
      "\xff",
      "gzip",
      "null",
    ),
    fc.string({ unit: fc.constantFrom(...Array.from("abcXYZ019 ;,=?/\t\xe9")), maxLength: 40 }),
  ),
  name: fc.constantFrom(
    "mcp-param-Region",
    "idempotency-key",
    "content-encoding",
    "origin",
    "mcp-name",
    "x-forwarded-host",
    "mcp-session-id",
    "last-event-id",
    "expect",
  ),
});

/** Attacks on a replica whose tasks are known. */
export function attacks(targets: Targets): fc.Arbitrary<Attack> {
  const byMethod = Object.entries(paramsOf(targets)).map(([method, params]) =>
    fc.record({ method: fc.constant(method), params }),
  );
  return fc
    .record({
      call: fc.oneof(...byMethod),
      id: fc.oneof({ weight: 9, arbitrary: fc.nat() }, { weight: 1, arbitrary: fc.oneof(someText, extreme) }),
      capabilities: fc.oneof(
        { weight: 6, arbitrary: fc.constant(undefined) },
        {
          weight: 1,
          arbitrary: fc.constantFrom({}, { elicitation: {} }, { sampling: {}, roots: {}, elicitation: {} }),
        },
      ),
      token: fc.oneof(
        { weight: 4, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.oneof(fc.integer(), someText) },
      ),
      changes: fc.oneof(fc.constant<Change[]>([]), fc.array(change, { minLength: 1, maxLength: 4 })),
      text: textChange,
      headers: fc.oneof(
        { weight: 2, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(headerChange, { maxLength: 3 }) },
      ),
      keepStep: fc.boolean(),
      attacker: fc.oneof({ weight: 12, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.constant(-1) }),
    })
    .map(({ call, id, capabilities, token, changes, text, headers, keepStep, attacker }): Attack => {
      const meta = {
        ...usualMeta(),
        ...(capabilities && { "io.modelcontextprotocol/clientCapabilities": capabilities }),
        ...(token !== undefined && { progressToken: token }),
      };
      const params = { ...call.params, _meta: meta };
      const isNotification = call.method.startsWith("notifications/");
      const proper: Value = { jsonrpc: "2.0", ...(!isNotification && { id }), method: call.method, params };
      const changed = changes.reduce(changedBy, structuredClone(proper));
      return {
        method: call.method,
        bodyText: changedText(JSON.stringify(changed), text),
        headers: changedHeaders(headersOf(keepStep ? changed : proper), headers),
        attacker,
      };
    });
}

/** The headers that go with a message, as far as it has what they mirror. */
function headersOf(message: Value): (readonly [string, string])[] {
  const method = textAt(message, "method");
  const params = isObject(message) && Object.hasOwn(message, "params") ? message["params"] : undefined;
  const name = ["taskId", "name", "uri"]
    .map((field) => textAt(params, field))
    .find((text) => text !== undefined);
  const args = isObject(params) && Object.hasOwn(params, "arguments") ? params["arguments"] : undefined;
  const region = textAt(args, "region");
  const sent = (text: string): string =>
    /^[\x21-\x7e]{1,1000}$/.test(text)
      ? text
      : `=?base64?${Buffer.from(text).toString("base64").slice(0, 12_000)}?=`;
  return [
    ["content-type", "application/json"],
    ["accept", "application/json, text/event-stream"],
    ["mcp-protocol-version", "2026-07-28"],
    ...(method === undefined ? [] : [["mcp-method", sent(method)] as const]),
    ...(name === undefined ? [] : [["mcp-name", sent(name)] as const]),
    ...(region === undefined ? [] : [["mcp-param-region", sent(region)] as const]),
  ];
}

function changedHeaders(
  headers: readonly (readonly [string, string])[],
  changes: readonly {
    readonly kind: string;
    readonly which: number;
    readonly value: string;
    readonly name: string;
  }[],
): (readonly [string, string])[] {
  const list = [...headers];
  for (const { kind, which, value, name } of changes) {
    const at = which % Math.max(1, list.length);
    const [is = name, was = ""] = list[at] ?? [];
    if (kind === "drop") list.splice(at, 1);
    else if (kind === "double") list.push([is, was]);
    else if (kind === "replace") list[at] = [is, value];
    else if (kind === "pad") list[at] = [is.toUpperCase(), `\t ${was} \t`];
    else list.push([name, value]);
  }
  return list;
}

function isObject(value: Value | undefined): value is { [name: string]: Value } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textAt(value: Value | undefined, name: string): string | undefined {
  const member = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return typeof member === "string" ? member : undefined;
}

/** Every place of a value: where it hangs, and under which name. */
function placesOf(
  root: Value,
): { readonly parent: Value[] | { [name: string]: Value }; readonly name: string }[] {
  const places: { readonly parent: Value[] | { [name: string]: Value }; readonly name: string }[] = [];
  const walk = (value: Value): void => {
    if (typeof value !== "object" || value === null || places.length > 400) return;
    for (const name of Object.keys(value)) {
      places.push({ parent: value, name });
      const member = Array.isArray(value) ? value[Number(name)] : value[name];
      if (member !== undefined) walk(member);
    }
  };
  walk(root);
  return places;
}

function changedBy(root: Value, { kind, at, value, name: newName }: Change): Value {
  const places = placesOf(root);
  const place = places[Math.floor(at * places.length)];
  if (!place) return value;
  const { parent, name } = place;
  const put = (key: string, member: Value): void => {
    Object.defineProperty(parent, key, {
      value: structuredClone(member),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  };
  const old: Value = Array.isArray(parent) ? (parent[Number(name)] ?? null) : (parent[name] ?? null);
  if (kind === "replace") put(name, value);
  else if (kind === "nest") put(name, [old]);
  else if (kind === "wrap") put(name, { [name]: old });
  else if (kind === "double") put(name, [old, old]);
  else if (Array.isArray(parent)) put(String(parent.length), value);
  else if (kind === "add") put(newName, value);
  else {
    delete parent[name];
    if (kind === "rename") put(newName, old);
  }
  return root;
}

function changedText(
  text: string,
  change: { readonly kind: string; readonly at: number; readonly insert: string } | undefined,
): string {
  if (!change) return text;
  const at = Math.floor(change.at * text.length);
  const put = (piece: string): string => text.slice(0, at) + piece + text.slice(at);
  switch (change.kind) {
    case "cut":
      return text.slice(0, at);
    case "insert":
      return put(change.insert);
    case "twice":
      return text.replace("{", '{"id":7,"method":"tasks/list",');
    case "escape":
      return text.replace(
        /"([a-z])([a-z]*)":/,
        (_, first: string, rest: string) => `"\\u00${first.charCodeAt(0).toString(16)}${rest}":`,
      );
    case "huge":
      return text.replace(/}$/, `,"pad":"${"x".repeat(1_100_000)}"}`);
    case "batch":
      return `[${text},${text}]`;
    case "bom":
      return `\ufeff${text}`;
    default:
      return text.replace(/:(\d+)/, ":1e999");
  }
}
