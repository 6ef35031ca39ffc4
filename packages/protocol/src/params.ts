import { z } from "zod";
import { jsonObject, type JsonObject } from "./json.ts";
import { problemOf } from "./problem.ts";
import { wireErrors } from "./wire-error.ts";

/** How many task ids, and how many resource URIs, one `subscriptions/listen` may name. */
export const MAX_LISTEN_IDS = 1000;
const MAX_LISTEN_ID_LENGTH = 256;

const texts = z.record(z.string(), z.string());
const listParams = z.object({ cursor: z.string().optional() });
const taskParams = z.object({ taskId: z.string() });
const flag = z.boolean().optional();

/**
 * Names that are too long to be any of ours are left out and repeated ones counted once: like an unknown id, they are
 * simply not acknowledged.
 */
const listenIds = z
  .array(z.string())
  .max(MAX_LISTEN_IDS, `expected at most ${MAX_LISTEN_IDS} entries`)
  .transform((ids): readonly string[] => [...new Set(ids.filter((id) => id.length <= MAX_LISTEN_ID_LENGTH))])
  .optional();

/** What a retry after `input_required` brings (basic/patterns/mrtr §InputResponses). Responses are checked by `parseInputResponse`. */
const retried = { inputResponses: jsonObject.optional(), requestState: z.string().optional() };

/**
 * The params of each method. Unknown members pass and are not in the parsed value: what must be kept as it came is
 * taken from the message. Objects whose keys a client names (`arguments`, `inputResponses`) are the parsed JSON
 * itself, not a copy.
 */
export const PARAMS = {
  "server/discover": z.object({}),
  "tools/list": listParams,
  "tools/call": z.object({ name: z.string(), arguments: jsonObject.optional(), ...retried }),
  "tasks/get": taskParams,
  "tasks/update": z.object({ taskId: z.string(), inputResponses: jsonObject }),
  "tasks/cancel": taskParams,
  "subscriptions/listen": z.object({
    notifications: z.object({
      taskIds: listenIds,
      resourceSubscriptions: listenIds,
      toolsListChanged: flag,
      promptsListChanged: flag,
      resourcesListChanged: flag,
    }),
  }),
  "prompts/list": listParams,
  "prompts/get": z.object({ name: z.string(), arguments: texts.optional(), ...retried }),
  "resources/list": listParams,
  "resources/templates/list": listParams,
  "resources/read": z.object({ uri: z.string(), ...retried }),
  "completion/complete": z.object({
    ref: z.union(
      [
        z.object({ type: z.literal("ref/prompt"), name: z.string() }),
        z.object({ type: z.literal("ref/resource"), uri: z.string() }),
      ],
      "expected a ref/prompt with a name or a ref/resource with a uri",
    ),
    argument: z.object({ name: z.string(), value: z.string() }),
    context: z.object({ arguments: texts.optional() }).optional(),
  }),
} as const;

/** A method whose params this package knows. */
export type KnownMethod = keyof typeof PARAMS;

/**
 * The params, parsed. Throws `invalidParams` (-32602, in-band) with one line: the path and what was expected there, as
 * in `params.taskId: expected a string`.
 */
export function parseParams<Schema extends z.ZodType>(
  schema: Schema,
  params: JsonObject | undefined,
): z.output<Schema> {
  const parsed = schema.safeParse(params ?? {});
  if (!parsed.success) throw wireErrors.invalidParams(`Invalid params: ${problemOf("params", parsed.error)}`);
  return parsed.data;
}
