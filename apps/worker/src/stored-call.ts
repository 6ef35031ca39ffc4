import type { TraceParent } from "@perdure/runtime";
import type { ClaimedTask } from "@perdure/tasks";
import type { JsonObject, JsonValue } from "@perdure/toolkit";

/** What a tool is run with, as the record kept it. */
export interface StoredCall {
  readonly args: unknown;
  readonly capabilities: JsonObject;
  readonly prepared: unknown;
}

/** The texts of a claimed task, parsed; none when the record holds no call that a tool could be run with. */
export function parseStoredCall({ params, capabilities, prepared }: ClaimedTask): StoredCall | undefined {
  const call = parseJson(params);
  const declared = parseJson(capabilities);
  if (!isJsonObject(call) || !isJsonObject(declared)) return undefined;
  const args = call["arguments"] ?? {};
  if (prepared === undefined) return { args, capabilities: declared, prepared: undefined };
  const value = parseJson(prepared);
  return value === undefined ? undefined : { args, capabilities: declared, prepared: value };
}

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/;

/** The trace that a stored call belongs to; none when its client named none and its replica made none. */
export function traceParentOf(params: string): TraceParent | undefined {
  if (!params.includes('"traceparent"')) return undefined;
  const call = parseJson(params);
  const meta = isJsonObject(call) ? call["_meta"] : undefined;
  if (!isJsonObject(meta)) return undefined;
  const { traceparent, tracestate } = meta;
  if (typeof traceparent !== "string" || !TRACEPARENT.test(traceparent)) return undefined;
  return { traceparent, ...(typeof tracestate === "string" && { tracestate }) };
}

function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
