import { createCallContext } from "./call-context.ts";
import { ProtocolError } from "./errors.ts";
import { knownError } from "./known-error.ts";
import { createNames } from "./names.ts";
import { failed, outcomeOfThrown } from "./outcome-of.ts";
import type { ThrownOutcome } from "./outcome-of.ts";
import { createRun } from "./run.ts";
import type { CommonOutcome } from "./run.ts";
import type { CallHost, CallOutcome } from "./run-host.ts";
import type { CallContext } from "./task-context.ts";

/** The author's function, and what its value means. */
export interface CallFunctions<Outcome> {
  readonly call: (context: CallContext) => unknown;
  readonly outcomeOf: (returned: unknown) => Outcome;
}

/**
 * Runs a function that may ask the client for input and keeps nothing else: a preparation, a prompt, a resource.
 * `what` begins the message of an unexpected failure. Nothing is tried again. Never rejects.
 */
export async function runCall<Outcome>(
  what: string,
  host: CallHost,
  { call, outcomeOf }: CallFunctions<Outcome>,
): Promise<Outcome | ThrownOutcome | CommonOutcome> {
  const run = createRun<Outcome | ThrownOutcome>(host.signal);
  if (!run.isOpen()) return run.outcome;
  const context = createCallContext({ host, run, names: createNames(host.journal) });
  void returnedBy(async () => outcomeOf(await call(context))).then((end) => {
    if ("returned" in end) return run.end(end.returned);
    return run.end(
      outcomeOfThrown(end.thrown) ?? failed({ code: -32603, message: `${what} failed` }, end.thrown),
    );
  });
  return run.outcome;
}

/**
 * {@link runCall} for what has no result that could say `isError`: a `ToolError` becomes a JSON-RPC error with its message.
 */
export async function runQuery(
  what: string,
  host: CallHost,
  functions: CallFunctions<CallOutcome>,
): Promise<CallOutcome> {
  return runCall(what, host, {
    outcomeOf: functions.outcomeOf,
    async call(context) {
      try {
        return await functions.call(context);
      } catch (error) {
        const known = knownError(error);
        throw known?.code === "perdure_tool_error" ? new ProtocolError(-32603, known.message) : error;
      }
    },
  });
}

/** What a function gave or threw, at once or later. */
export async function returnedBy<Value>(
  fn: () => Value | Promise<Value>,
): Promise<{ readonly returned: Value } | { readonly thrown: unknown }> {
  try {
    return { returned: await fn() };
  } catch (error) {
    return { thrown: error };
  }
}
