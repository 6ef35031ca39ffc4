import type { JsonValue } from "./json.ts";

/*
 * Errors that a tool may throw on purpose. Each is known by `code`, not by class: an author's copy of this package
 * and the server's may be two.
 */

/** The tool ran and reports a failure that a model can read and act on: the result has `isError: true`. */
export class ToolError extends Error {
  override readonly name = "ToolError";
  readonly code = "perdure_tool_error";
}

/** The request itself cannot be served: a JSON-RPC error, and a task ends as `failed`. The message and data are sent to the client. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  readonly code = "perdure_protocol_error";
  readonly rpcCode: number;
  readonly data: JsonValue | undefined;

  /** `rpcCode` is a JSON-RPC code: -32603, -32602, or one outside -32768…-32000. */
  constructor(rpcCode: number, message: string, data?: JsonValue) {
    super(message);
    this.rpcCode = rpcCode;
    this.data = data;
  }
}

/** The work was called off by the tool: the task ends as `cancelled`. */
export class TaskCancelled extends Error {
  override readonly name = "TaskCancelled";
  readonly code = "perdure_task_cancelled";
}

/** The client did not declare what a request needs. A tool may catch it; uncaught, the call fails with -32021. */
export class MissingCapability extends Error {
  override readonly name = "MissingCapability";
  readonly code = "perdure_missing_capability";
  /** In the shape of `ClientCapabilities`: `{ elicitation: {} }`. */
  readonly requiredCapabilities: JsonValue;

  constructor(message: string, requiredCapabilities: JsonValue) {
    super(message);
    this.requiredCapabilities = requiredCapabilities;
  }
}

/** A step failed for good: its attempts are used up. A tool may catch it. */
export class StepFailed extends Error {
  override readonly name = "StepFailed";
  readonly code = "perdure_step_failed";
  readonly step: string;

  constructor(step: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.step = step;
  }
}

/**
 * The client accepted a question and its answer does not fit it. A tool may catch it and ask again under another key;
 * uncaught, the call fails with -32602. The message has the path and what was expected, never the value.
 */
export class InvalidAnswer extends Error {
  override readonly name = "InvalidAnswer";
  readonly code = "perdure_invalid_answer";
  readonly key: string;

  constructor(key: string, message: string) {
    super(message);
    this.key = key;
  }
}

/** A method of the context was called after the run had ended. Nothing was done. */
export class RunEnded extends Error {
  override readonly name = "RunEnded";
  readonly code = "perdure_run_ended";
}

/** The tool broke a rule that makes replay safe; the run has failed with this message. */
export class BrokenRule extends Error {
  override readonly name = "BrokenRule";
  readonly code = "perdure_broken_rule";
}
