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
