import type { JsonObject, JsonValue } from "./json.ts";
import type { CallContext, Duration, TaskContext } from "./task-context.ts";

/** Marks what `defineTool`, `definePrompt` and `defineResource` made, across copies of this package. */
export const KIND: unique symbol = Symbol.for("perdure.kind");

/** "forbidden": runs in the replica, in the call. "optional": a task where the client can take one. "required": always a task. */
export type TaskSupport = "forbidden" | "optional" | "required";

/** A client capability that a tool cannot do without. */
export type ClientNeed = "elicitation" | "sampling" | "roots";

/** How often a failing step, or the function around the steps, is tried, and how long the first wait is; it doubles, up to a minute. */
export interface RetryPolicy {
  readonly attempts: number;
  readonly backoff: Duration;
}

/** What validation says. `problem` is one line for the caller, with the path of the value. */
export type Parsed =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly problem: string };

/** A parameter that the client mirrors into the header `Mcp-Param-<name>` (SEP-2243). */
export interface HeaderParam {
  readonly name: string;
  readonly path: readonly string[];
  readonly type: "string" | "integer" | "boolean";
}

/** A tool as the server sees it. Made by `defineTool` alone. */
export interface Tool {
  readonly [KIND]: "tool";
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly taskSupport: TaskSupport;
  /** Milliseconds a task of this tool may live; the server's default when absent. */
  readonly ttlMs?: number;
  readonly pollIntervalMs?: number;
  readonly needs: readonly ClientNeed[];
  /** Scopes that the caller's token must carry, all of them. */
  readonly scopes: readonly string[];
  readonly retry: { readonly attempts: number; readonly backoffMs: number };
  /** JSON Schema 2020-12. */
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject;
  readonly annotations?: JsonObject;
  readonly icons?: readonly JsonObject[];
  readonly headerParams: readonly HeaderParam[];
  readonly parseInput: (args: unknown) => Parsed;
  /** Validates what `run` returned and makes a `CallToolResult` of it (without `resultType` and `_meta`). */
  readonly parseResult: (returned: unknown) => Parsed;
  readonly prepare?: (args: unknown, call: CallContext) => Promise<JsonValue> | JsonValue;
  readonly run: (args: unknown, task: TaskContext<unknown>) => unknown;
}
