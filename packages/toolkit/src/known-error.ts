import { z } from "zod";
import { MissingCapability, ProtocolError, TaskCancelled, ToolError } from "./errors.ts";
import type { JsonValue } from "./json.ts";
import { jsonText } from "./json-text.ts";

/*
 * Errors that a tool throws on purpose, known by `code`: an author's copy of this package and the server's may be two,
 * so `instanceof` would not see them.
 */

const json = z.custom<JsonValue>((value) => jsonText(value).ok);

const knownErrorSchema = z.discriminatedUnion("code", [
  z.object({ code: z.literal("perdure_tool_error"), message: z.string() }),
  z.object({
    code: z.literal("perdure_protocol_error"),
    message: z.string(),
    rpcCode: z.int(),
    data: json.optional().catch(undefined),
  }),
  z.object({ code: z.literal("perdure_task_cancelled"), message: z.string() }),
  z.object({
    code: z.literal("perdure_missing_capability"),
    message: z.string(),
    requiredCapabilities: json,
  }),
  z.object({ code: z.literal("perdure_invalid_answer"), message: z.string() }),
  z.object({ code: z.literal("perdure_step_failed"), message: z.string(), step: z.string() }),
]);

/** What an error on purpose says: plain data, so that a step's record can keep it. */
export type KnownError = z.infer<typeof knownErrorSchema>;

/** The data of an error that was thrown on purpose; undefined of any other thrown thing. */
export function knownError(thrown: unknown): KnownError | undefined {
  const known = knownErrorSchema.safeParse(thrown);
  return known.success ? known.data : undefined;
}

/** An error that a step may throw on purpose: it is not tried again. */
export type DeliberateError = Extract<
  KnownError,
  {
    code:
      | "perdure_tool_error"
      | "perdure_protocol_error"
      | "perdure_task_cancelled"
      | "perdure_missing_capability";
  }
>;

/** Narrows to what a step's record keeps beside plain failures. */
export function isDeliberate(known: KnownError | undefined): known is DeliberateError {
  return (
    known !== undefined && known.code !== "perdure_invalid_answer" && known.code !== "perdure_step_failed"
  );
}

/** The error again, from its data. */
export function revive(known: DeliberateError): Error {
  switch (known.code) {
    case "perdure_tool_error":
      return new ToolError(known.message);
    case "perdure_protocol_error":
      return new ProtocolError(known.rpcCode, known.message, known.data);
    case "perdure_task_cancelled":
      return new TaskCancelled(known.message);
    case "perdure_missing_capability":
    default:
      return new MissingCapability(known.message, known.requiredCapabilities);
  }
}
