import { knownError } from "./known-error.ts";
import type { KnownError } from "./known-error.ts";
import type { RpcError, RunOutcome } from "./run-host.ts";

/** How a run ends for good when its function throws. */
export type ThrownOutcome = Extract<RunOutcome, { kind: "completed" | "failed" | "cancelled" }>;

/**
 * The outcome of an error that was thrown on purpose; undefined of any other, whose text is nobody's business but the log's.
 *
 *     ToolError          completed, isError: true
 *     ProtocolError      failed, its code, message and data
 *     TaskCancelled      cancelled
 *     MissingCapability  failed, -32021 with requiredCapabilities
 *     InvalidAnswer      failed, -32602
 *     StepFailed         failed, -32603: trying again would read the same failure back
 */
export function outcomeOfThrown(thrown: unknown): ThrownOutcome | undefined {
  const known = knownError(thrown);
  return known && outcomeOf(known, thrown);
}

function outcomeOf(known: KnownError, thrown: unknown): ThrownOutcome {
  switch (known.code) {
    case "perdure_tool_error": {
      const text = known.message === "" ? "The tool reports an error" : known.message;
      return { kind: "completed", result: { content: [{ type: "text", text }], isError: true } };
    }
    case "perdure_protocol_error": {
      const { rpcCode: code, message, data } = known;
      return failed({ code, message, ...(data !== undefined && { data }) }, thrown);
    }
    case "perdure_task_cancelled":
      return { kind: "cancelled", reason: known.message === "" ? "The tool called it off" : known.message };
    case "perdure_missing_capability": {
      const { message, requiredCapabilities } = known;
      return failed({ code: -32021, message, data: { requiredCapabilities } }, thrown);
    }
    case "perdure_invalid_answer":
      return failed({ code: -32602, message: known.message }, thrown);
    case "perdure_step_failed":
    default:
      return failed(
        { code: -32603, message: `The tool failed: its step ${JSON.stringify(known.step)} did not succeed` },
        thrown,
      );
  }
}

/** A failure whose `cause` is for the log alone. */
export function failed(error: RpcError, cause?: unknown): Extract<RunOutcome, { kind: "failed" }> {
  return { kind: "failed", error, ...(cause !== undefined && { cause }) };
}
