import { z } from "zod";
import { StepFailed } from "./errors.ts";
import { isDeliberate, knownError, revive } from "./known-error.ts";
import type { DeliberateError } from "./known-error.ts";

/*
 * A step's record is JSON text: {"ok":value}, or {} for a step that returned nothing, or {"error":{"message":…}}.
 * An error on purpose keeps its code and data beside the message, so that a replay throws the same error.
 */

const recordSchema = z.object({
  ok: z.unknown().optional(),
  error: z.looseObject({ message: z.string() }).optional(),
});

/** The record of a value; `valueText` is its JSON, or undefined for nothing. */
export function recordOfValue(valueText: string | undefined): string {
  return valueText === undefined ? "{}" : `{"ok":${valueText}}`;
}

/** The record of a step that failed for good, or that threw on purpose. */
export function recordOfError(error: DeliberateError | { readonly message: string }): string {
  return JSON.stringify({ error });
}

/** What a record holds: the value, or the error that the step threw in the end. */
export function readRecord(step: string, record: string): { readonly ok?: unknown; readonly error?: Error } {
  const { ok, error } = recordSchema.parse(JSON.parse(record));
  if (!error) return { ok };
  const known = knownError(error);
  return { error: isDeliberate(known) ? revive(known) : new StepFailed(step, error.message) };
}
