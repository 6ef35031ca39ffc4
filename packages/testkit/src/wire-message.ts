import { z } from "zod";

/** A JSON object of which nothing is known yet. */
export type Json = Readonly<Record<string, unknown>>;

const json = z.record(z.string(), z.unknown());
const errorBody = z.object({ code: z.number(), message: z.string(), data: z.unknown().optional() });
/** How tests read the result of a call. */
export const callResult = z.looseObject({
  resultType: z.string(),
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })).optional(),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  inputRequests: json.optional(),
  requestState: z.string().optional(),
  taskId: z.string().optional(),
});

/** How tests read a task. */
export const wireTask = z.looseObject({
  taskId: z.string(),
  status: z.enum(["working", "input_required", "completed", "failed", "cancelled"]),
  statusMessage: z.string().optional(),
  createdAt: z.string(),
  lastUpdatedAt: z.string(),
  ttlMs: z.number(),
  pollIntervalMs: z.number(),
  inputRequests: json.optional(),
  result: callResult.optional(),
  error: errorBody.optional(),
});

/** Any JSON-RPC message of a server. */
export const wireMessage = z.looseObject({
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string().optional(),
  params: json.optional(),
  result: json.optional(),
  error: errorBody.optional(),
});

/** A JSON-RPC error as it came. */
export type WireErrorBody = z.infer<typeof errorBody>;

/** A `CallToolResult`, or an `InputRequiredResult`, as far as tests look at them. */
export type CallResult = z.infer<typeof callResult>;

/** A task as `tasks/get` and `notifications/tasks` show it. */
export type WireTask = z.infer<typeof wireTask>;

/** A message of a server: a notification, or the answer to a request. */
export type WireMessage = z.infer<typeof wireMessage>;
