import { z } from "zod";
import type { JsonObject, JsonValue } from "./json.ts";
import { durationProblem, parseDuration } from "./duration.ts";
import { collectHeaderParams } from "./header-params.ts";
import { problemOf } from "./problem-of.ts";
import type { CallContext, Duration, TaskContext } from "./task-context.ts";
import { KIND } from "./tool.ts";
import type { ClientNeed, RetryPolicy, TaskSupport, Tool } from "./tool.ts";
import { makeCallToolResult } from "./tool-result.ts";
import type { ToolResult } from "./tool-result.ts";

/** Hints about a tool's behaviour for clients (MCP `ToolAnnotations`). */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** A picture for user interfaces (MCP `Icon`): `sizes` as `"48x48"` or `"any"`. */
export interface Icon {
  readonly src: string;
  readonly mimeType?: string;
  readonly sizes?: readonly string[];
  readonly theme?: "light" | "dark";
}

/** What a tool's function may return: with an `output` schema its value, without one text, any JSON value, or nothing. */
export type Returned<Output extends z.ZodType | undefined> =
  | ToolResult
  | (Output extends z.ZodType ? z.input<Output> : JsonValue | undefined | void);

/** What an author says of a tool. */
export interface ToolDefinition<
  Input extends z.ZodObject,
  Output extends z.ZodType | undefined,
  Prepared extends JsonValue | undefined,
> {
  /** 1 to 128 of `A-Z a-z 0-9 _ - .`, unique within a server (MCP tools §Tool Names). */
  readonly name: string;
  readonly title?: string;
  /** What a model reads to decide when to call it. */
  readonly description: string;
  /**
   * The arguments. A property with `.meta({ "x-mcp-header": "Region" })` is mirrored by clients into the header
   * `Mcp-Param-Region`. A tool without arguments leaves `input` out.
   */
  readonly input?: Input;
  /** JSON Schema 2020-12 to advertise instead of what `input` gives, for keywords that zod has no words for. `input` still validates. */
  readonly inputSchema?: JsonObject;
  /** The schema of the structured result. Every result is checked against it before it is kept. */
  readonly output?: Output;
  /** "forbidden" (the default): runs in the call. "optional": a task where the client can take one. "required": always a task. */
  readonly taskSupport?: TaskSupport;
  /** How long a task of this tool may live; the server's default when left out. */
  readonly ttl?: Duration;
  /** How long clients are asked to wait between polls; the server's default when left out. */
  readonly pollInterval?: Duration;
  /** Capabilities without which a call is refused before anything starts. */
  readonly needs?: readonly ClientNeed[];
  /** Scopes that the caller's token must carry, all of them. */
  readonly scopes?: readonly string[];
  /** Default: three attempts, the first wait one second. */
  readonly retry?: Partial<RetryPolicy>;
  readonly annotations?: ToolAnnotations;
  readonly icons?: readonly Icon[];
  /**
   * Runs in the call, before a task exists, and may ask the client for input; what it returns is `task.prepared`.
   * It may run more than once: it must change nothing. Write it above `run`, so that its type reaches `run`.
   */
  prepare?(args: z.output<Input>, call: CallContext): Promise<Prepared> | Prepared;
  /** The tool itself. It may be run again from the top at any time: see {@link TaskContext}. */
  run(args: z.output<Input>, task: TaskContext<Prepared>): Promise<Returned<Output>> | Returned<Output>;
}

/** A tool that knows the types of its arguments and of its structured result, for `runToolInMemory`. They exist in types only. */
export interface TypedTool<Args, Structured> extends Tool {
  readonly types?: { readonly args: Args; readonly structured: Structured };
}

/** The type of a tool's structured result. */
export type StructuredOf<Output extends z.ZodType | undefined> = Output extends z.ZodType
  ? z.output<Output>
  : JsonValue | undefined;

/** What a tool takes that says nothing of its input. */
const NO_ARGUMENTS = z.strictObject({});
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;
const DEFAULT_RETRY = { attempts: 3, backoff: "1s" } as const satisfies RetryPolicy;

/** A definition with the types of its functions erased. Methods, so that a typed definition fits. */
interface Erased {
  prepare?(args: unknown, call: CallContext): Promise<JsonValue | undefined> | JsonValue | undefined;
  run(args: unknown, task: TaskContext<unknown>): unknown;
}

/**
 * Makes a tool. Export it from a module that is named in `PERDURE_TOOLS`.
 * Throws a `TypeError` that names the tool and the field when the definition is wrong.
 */
export function defineTool<
  Input extends z.ZodObject = typeof NO_ARGUMENTS,
  Output extends z.ZodType | undefined = undefined,
  Prepared extends JsonValue | undefined = undefined,
>(definition: ToolDefinition<Input, Output, Prepared>): TypedTool<z.input<Input>, StructuredOf<Output>> {
  const { name, title, description, output, annotations, icons } = definition;
  const wrong = (problem: string): TypeError =>
    new TypeError(`defineTool(${JSON.stringify(name)}): ${problem}`);
  if (typeof name !== "string" || !NAME.test(name))
    throw wrong("name must be 1 to 128 of A-Z a-z 0-9 _ - . (MCP tools §Tool Names)");
  if (typeof description !== "string" || description.trim() === "")
    throw wrong("description must say what the tool does: a model reads it to decide when to call it");
  if (typeof definition.run !== "function") throw wrong("run must be a function");

  const durationOf = (field: string, duration: Duration): number => {
    const ms = parseDuration(duration);
    if (ms === undefined || ms === 0) throw wrong(durationProblem(field, duration));
    return ms;
  };
  const schemaOf = (field: string, schema: z.ZodType, io: "input" | "output"): JsonObject => {
    try {
      return JSON.parse(JSON.stringify(z.toJSONSchema(schema, { io, target: "draft-2020-12" })));
    } catch (error) {
      throw wrong(`${field} has no JSON Schema: ${error instanceof Error ? error.message : String(error)}`);
    }
  };

  const input: z.ZodType = definition.input ?? NO_ARGUMENTS;
  const inputSchema = definition.inputSchema ?? schemaOf("input", input, "input");
  if (inputSchema["type"] !== "object") throw wrong("input must be an object schema, as z.object({ … })");
  const headers = collectHeaderParams(inputSchema);
  if (!headers.ok) throw wrong(headers.problem);

  const attempts = definition.retry?.attempts ?? DEFAULT_RETRY.attempts;
  if (!Number.isInteger(attempts) || attempts < 1)
    throw wrong("retry.attempts must be a whole number from 1 up; 1 means: do not try again");

  const erased: Erased = definition;
  return {
    [KIND]: "tool",
    name,
    ...(title !== undefined && { title }),
    description,
    taskSupport: definition.taskSupport ?? "forbidden",
    ...(definition.ttl !== undefined && { ttlMs: durationOf("ttl", definition.ttl) }),
    ...(definition.pollInterval !== undefined && {
      pollIntervalMs: durationOf("pollInterval", definition.pollInterval),
    }),
    needs: definition.needs ?? [],
    scopes: definition.scopes ?? [],
    retry: {
      attempts,
      backoffMs: durationOf("retry.backoff", definition.retry?.backoff ?? DEFAULT_RETRY.backoff),
    },
    inputSchema,
    ...(output && { outputSchema: schemaOf("output", output, "output") }),
    ...(annotations && { annotations: { ...annotations } }),
    ...(icons && { icons: icons.map((icon) => ({ ...icon })) }),
    headerParams: headers.params,
    parseInput(args) {
      const parsed = input.safeParse(args);
      return parsed.success
        ? { ok: true, value: parsed.data }
        : { ok: false, problem: problemOf(parsed.error) };
    },
    parseResult: (returned) => makeCallToolResult(returned, output),
    ...(definition.prepare && {
      prepare: async (args: unknown, call: CallContext) => (await erased.prepare?.(args, call)) ?? null,
    }),
    run: (args, task) => erased.run(args, task),
  };
}
