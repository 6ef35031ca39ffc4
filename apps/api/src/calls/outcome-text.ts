import { WireError, wireErrors } from "@perdure/protocol";
import type { Log } from "@perdure/runtime";
import type { CallOutcome, InputRequest, RunOutcome } from "@perdure/toolkit/host";
import type { ResultText } from "../result-text.ts";
import type { CallScope, EndReason } from "./call-scope.ts";

/** What turns an outcome into an answer. */
export interface OutcomeDeps {
  readonly results: ResultText;
  readonly maxResultBytes: number;
  readonly callTimeoutMs: number;
  readonly log: Log;
}

/** An outcome that is an end. */
export type EndOutcome = Exclude<RunOutcome | CallOutcome, { kind: "retry" | "waiting" }>;

/** Who ended, for the log, and the scope that says why it was stopped. */
export interface Ended {
  readonly scope: Pick<CallScope, "reason">;
  readonly tool?: { readonly name: string };
}

/**
 * The result of a call that came to its end, as JSON text. A failure is thrown as the JSON-RPC error that it is. What a
 * tool calls off is a tool execution error, because a model can read the reason and act on it.
 */
export function settled(deps: OutcomeDeps, { scope, tool }: Ended, outcome: EndOutcome): string {
  switch (outcome.kind) {
    case "completed": {
      const text = deps.results.completeObject(outcome.result);
      if (Buffer.byteLength(text) <= deps.maxResultBytes) return text;
      throw tooLarge(deps.maxResultBytes);
    }
    case "cancelled":
      return deps.results.completeObject({
        content: [{ type: "text", text: outcome.reason }],
        isError: true,
      });
    case "failed":
      if (outcome.cause !== undefined) {
        deps.log.warn({ err: outcome.cause, ...(tool && { tool: tool.name }) }, "A call failed");
      }
      throw wireErrors.application(outcome.error);
    case "stopped":
      throw stoppedError(scope.reason, deps.callTimeoutMs);
    default:
      throw wireErrors.internal();
  }
}

/** An `InputRequiredResult` (MCP mrtr). Without requests it only says: try again with this state. */
export function inputRequired(
  { results }: Pick<OutcomeDeps, "results">,
  requests: readonly InputRequest[],
  requestState: string,
): string {
  const members = requests.map(({ key, request }) => `${JSON.stringify(key)}:${request}`);
  return inputRequiredText(results, members.length === 0 ? undefined : `{${members.join()}}`, requestState);
}

/** The same, of the requests' JSON text. */
export function inputRequiredText(
  results: ResultText,
  inputRequests: string | undefined,
  requestState: string,
): string {
  const asked = inputRequests === undefined ? "" : `"inputRequests":${inputRequests},`;
  return results.ofType("input_required", `${asked}"requestState":${JSON.stringify(requestState)}`);
}

/** Why a call was stopped, as its client is told. A client that went away is told nothing, whatever this says. */
export function stoppedError(reason: EndReason | undefined, callTimeoutMs: number): WireError {
  if (reason === "deadline") {
    const message = `The call took longer than ${callTimeoutMs} ms and was cancelled`;
    return wireErrors.application({ code: -32603, message });
  }
  const { headers } = wireErrors.unavailable(1000);
  return new WireError("unavailable", "The replica is stopping: make the call again", { headers });
}

function tooLarge(maxBytes: number): WireError {
  return wireErrors.application({ code: -32603, message: `The result is over ${maxBytes} bytes` });
}
