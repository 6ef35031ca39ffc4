import { createHash } from "node:crypto";
import { z } from "zod";
import type { TaskStatus } from "@perdure/tasks";
import type { Scene } from "./scenes.ts";

/** What a client saw of a task in one answer or frame. */
export interface SeenTask {
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly updatedAt: number;
  readonly message?: string;
  /** Key to the request, as text. */
  readonly inputs: Readonly<Record<string, string>>;
  /** The text of the tool's result, shortened; whether it was an error result. */
  readonly result?: { readonly text: string; readonly bytes: number; readonly isError: boolean };
  readonly error?: { readonly code: number; readonly message: string };
  /** Digest of the whole answer. */
  readonly bytes: string;
}

/**
 * How a request ended for its client. `unknown`: nobody can tell whether it was done (no answer, or the server says so).
 * `refused`: an error of JSON-RPC.
 */
export type Verdict = "ok" | "refused" | "unknown";

/** One request and its answer, or one frame of a stream. Times by the wall clock, in milliseconds. */
export interface ClientEvent {
  readonly what: "create" | "call" | "get" | "update" | "cancel" | "listen" | "frame" | "stream end";
  /** The replica's name. */
  readonly via: string;
  readonly sentAt: number;
  readonly at: number;
  readonly verdict: Verdict;
  /** Of a frame: which stream. */
  readonly stream?: number;
  readonly seen?: SeenTask;
  /** Of a call that waited: the text of its result. */
  readonly said?: string;
  /** Of an update. */
  readonly answers?: Readonly<Record<string, string>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** All that the client of one task did and saw, in the order of the answers. */
export interface History {
  readonly scene: Scene;
  taskId: string | undefined;
  /** The reply to the creation. */
  createdAt: number | undefined;
  readonly events: ClientEvent[];
  /** The client has seen all it wanted to see. */
  isDone: boolean;
}

const wireTask = z.looseObject({
  taskId: z.string(),
  status: z.enum(["working", "input_required", "completed", "failed", "cancelled"]),
  statusMessage: z.string().optional(),
  lastUpdatedAt: z.string(),
  inputRequests: z.record(z.string(), z.unknown()).optional(),
  result: z
    .looseObject({
      isError: z.boolean().optional(),
      content: z.array(z.looseObject({ text: z.string().optional() })).optional(),
    })
    .optional(),
  error: z.looseObject({ code: z.number(), message: z.string() }).optional(),
});

const callResult = z.looseObject({
  resultType: z.literal("complete"),
  content: z.array(z.looseObject({ text: z.string() })),
});

/** The text of a result that is whole; undefined for one that asks to come back. */
export function saidIn(result: unknown): string | undefined {
  const parsed = callResult.safeParse(result);
  return parsed.success ? parsed.data.content[0]?.text : undefined;
}

const KEPT_TEXT = 300;

/** Reads a task as `tasks/get` and `notifications/tasks` show it; `text` is the JSON that it came in. */
export function seenTask(value: unknown, text: string): SeenTask {
  const { taskId, status, statusMessage, lastUpdatedAt, inputRequests, result, error } =
    wireTask.parse(value);
  const said = result?.content?.[0]?.text ?? "";
  return {
    taskId,
    status,
    updatedAt: Date.parse(lastUpdatedAt),
    ...(statusMessage !== undefined && { message: statusMessage }),
    inputs: Object.fromEntries(
      Object.entries(inputRequests ?? {}).map(([key, request]) => [key, JSON.stringify(request)]),
    ),
    ...(result && {
      result: { text: said.slice(0, KEPT_TEXT), bytes: said.length, isError: result.isError ?? false },
    }),
    ...(error && { error: { code: error.code, message: error.message } }),
    bytes: createHash("sha1").update(text).digest("hex"),
  };
}
