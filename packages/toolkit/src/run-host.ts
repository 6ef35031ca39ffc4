import type { JsonObject, JsonValue } from "./json.ts";
import type { Caller, LogLevel, ProgressAmount } from "./task-context.ts";

/** What a call has already done: JSON texts by name. A run reads it and never changes it. */
export interface RunJournal {
  readonly steps: ReadonlyMap<string, string>;
  readonly requests: ReadonlyMap<string, string>;
  readonly answers: ReadonlyMap<string, string>;
  /** Ends of sleeps, in milliseconds by the clock of `nowMs`. */
  readonly sleeps: ReadonlyMap<string, number>;
  /** Failures by step name; `""` is the function itself. */
  readonly failures: ReadonlyMap<string, number>;
}

/** What a replica gives to a preparation, a prompt or a resource: enough to ask the client for input. */
export interface CallHost {
  readonly caller: Caller;
  readonly signal: AbortSignal;
  /** The client's declared capabilities (`ClientCapabilities`). */
  readonly capabilities: JsonObject;
  /** What was asked under which key in earlier rounds (it may be empty), and what the client has answered. */
  readonly journal: Pick<RunJournal, "requests" | "answers">;
  readonly log: (level: LogLevel, message: string, data?: JsonObject) => void;
}

/** What a worker, a replica or a test gives to a run. */
export interface RunHost {
  readonly id: string;
  readonly caller: Caller;
  readonly attempt: number;
  readonly signal: AbortSignal;
  /** The client's declared capabilities (`ClientCapabilities`). */
  readonly capabilities: JsonObject;
  readonly prepared: unknown;
  readonly journal: RunJournal;
  /** The clock that `journal.sleeps` is in. */
  readonly nowMs: () => number;
  /** Keeps a step's record, durably before it resolves. A rejection ends the run as "stopped". */
  readonly recordStep: (name: string, record: string) => Promise<void>;
  /** Not durable, may be dropped or merged. */
  readonly progress: (message: string, amount?: ProgressAmount) => void;
  readonly extend: (ms: number) => Promise<void>;
  readonly log: (level: LogLevel, message: string, data?: JsonObject) => void;
  /** Given by hosts that cannot park: a sleep then waits here. A question beside it is asked at once all the same. */
  readonly sleepInPlace?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/**
 * A request to the client under its key. `request` is the JSON text of `{ method, params }`: the same on every run, with
 * a form's fields in the author's order; the text of the journal, when it is there already.
 */
export interface InputRequest {
  readonly key: string;
  readonly request: string;
}

/** A JSON-RPC error. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: JsonValue;
}

/** How a run ended. */
export type RunOutcome =
  /** A `CallToolResult` without `resultType` and `_meta`; valid by the tool's output schema. */
  | { readonly kind: "completed"; readonly result: JsonObject }
  | { readonly kind: "failed"; readonly error: RpcError; readonly cause?: unknown }
  | { readonly kind: "cancelled"; readonly reason: string }
  /** `failed` names the step, or is `""`; `message` is safe to show, `cause` is for the log. */
  | {
      readonly kind: "retry";
      readonly failed: string;
      readonly delayMs: number;
      readonly message: string;
      readonly cause: unknown;
    }
  /** Nothing but input or time can move it on. */
  | {
      readonly kind: "waiting";
      readonly requests: readonly InputRequest[];
      readonly sleeps: readonly { readonly name: string; readonly durationMs: number }[];
    }
  /** The signal was aborted, or a record could not be kept. */
  | { readonly kind: "stopped" };

/** How a preparation ended. */
export type PrepareOutcome =
  | { readonly kind: "prepared"; readonly value: JsonValue }
  | Extract<RunOutcome, { kind: "failed" | "cancelled" | "waiting" | "stopped" }>
  /** The tool threw a `ToolError`. */
  | { readonly kind: "completed"; readonly result: JsonObject };

/** How a prompt or a resource ended. `result` is a `GetPromptResult` or `ReadResourceResult` without `resultType` and `_meta`. */
export type CallOutcome = Exclude<PrepareOutcome, { kind: "prepared" }>;

/** How a completion ended. `result` is a `CompleteResult` without `resultType` and `_meta`: at most 100 values. */
export type Completion = Extract<RunOutcome, { kind: "completed" | "failed" }>;
