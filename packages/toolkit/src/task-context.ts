import type { z } from "zod";
import type { JsonObject, JsonValue } from "./json.ts";

/** Who made the call. All of it comes from the verified token. */
export interface Caller {
  readonly tenant: string;
  readonly principal: string;
  readonly scopes: readonly string[];
}

/** Milliseconds, or a number with a unit: `"250ms"`, `"30s"`, `"15m"`, `"2h"`, `"7d"`. */
export type Duration = number | string;

/** A form that a person fills in. `schema` is a flat object of strings, numbers, booleans and enums (MCP elicitation §Requested Schema). */
export interface Elicitation<Schema extends z.ZodObject> {
  readonly message: string;
  readonly schema: Schema;
}

/** What came back: `content` is validated against the schema, and is there only when the person accepted. */
export type ElicitAnswer<Content> =
  | { readonly action: "accept"; readonly content: Content }
  | { readonly action: "decline" }
  | { readonly action: "cancel" };

/** A request to the client's model (MCP `sampling/createMessage` params). */
export interface SampleRequest extends JsonObject {
  readonly messages: readonly JsonObject[];
  readonly maxTokens: number;
}

/** The model's answer (MCP `CreateMessageResult`). */
export interface SampleAnswer {
  readonly role: string;
  readonly content: JsonValue;
  readonly model: string;
  readonly stopReason?: string;
}

/** A root that the client offers (MCP `roots/list`). */
export interface Root {
  readonly uri: string;
  readonly name?: string;
}

/** The levels of MCP logging (RFC 5424). */
export const LOG_LEVELS = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;

/** One of {@link LOG_LEVELS}. */
export type LogLevel = (typeof LOG_LEVELS)[number];

/**
 * Writes a log line; a synchronous call whose client asked for logs gets it too (`notifications/message`). What an earlier
 * run has said is not said again in a replay.
 */
export type ToolLog = (level: LogLevel, message: string, data?: JsonObject) => void;

/** What may be asked of a client while a call is being prepared or a synchronous tool runs. */
export interface CallContext {
  readonly caller: Caller;
  /** Aborted when the client goes away or the deadline passes. */
  readonly signal: AbortSignal;
  readonly log: ToolLog;
  /**
   * Asks a person. The key names the question for the whole life of the call. Rejects with `InvalidAnswer` when what was
   * accepted does not fit the schema, and with `MissingCapability` when the client has no forms.
   */
  elicit<Schema extends z.ZodObject>(
    key: string,
    elicitation: Elicitation<Schema>,
  ): Promise<ElicitAnswer<z.output<Schema>>>;
  /** Asks the client's model. */
  sample(key: string, request: SampleRequest): Promise<SampleAnswer>;
  /** Asks for the client's roots. */
  roots(key: string): Promise<readonly Root[]>;
}

/** How far a tool is, for clients that asked for progress. */
export interface ProgressAmount {
  readonly done: number;
  readonly total?: number;
}

/**
 * What a tool's function gets beside its arguments. A durable task may be run again from the top at any time, by any
 * worker: what went through `step`, `elicit`, `sample`, `roots` and `sleep` is read back from the journal, not done again.
 * Names and keys are unique within a task's life; a loop puts its index in the name.
 */
export interface TaskContext<Prepared = undefined> extends CallContext {
  /** The task's id; of a synchronous call, the id of the call. */
  readonly id: string;
  /** 1, and one more for each failure of the tool. A worker's death does not count. */
  readonly attempt: number;
  /** What `prepare` returned. */
  readonly prepared: Prepared;
  /** Aborted on cancel, lost lease, shutdown and expiry; `signal.reason` says which. */
  readonly signal: AbortSignal;
  /**
   * Runs `fn` and keeps its JSON value: a later run gets the value back without calling `fn`.
   * Rejects with `StepFailed` once its attempts are used up. No method but `progress`, `extend` and `log` may be called in `fn`.
   * `fn` runs at least once: a worker that dies before the value is kept leaves the next one to run it again.
   */
  step<Value extends JsonValue | undefined | void>(
    name: string,
    fn: (signal: AbortSignal) => Value | Promise<Value>,
  ): Promise<Value>;
  /** Waits without holding a worker. */
  sleep(name: string, duration: Duration): Promise<void>;
  /** Shows a message as the task's status, and the amount to a client that waits. Not said again in a replay. */
  progress(message: string, amount?: ProgressAmount): Promise<void>;
  /** Keeps the task alive for at least this long from now. */
  extend(duration: Duration): Promise<void>;
}
