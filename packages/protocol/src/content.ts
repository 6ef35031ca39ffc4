import { z } from "zod";
import { jsonObject } from "./json.ts";

/*
 * Content blocks and the results made of them (schema.ts `ContentBlock`, `CallToolResult`, `SamplingMessage`). Loose:
 * unknown members pass and are kept, because a later revision adds some.
 */

const meta = { _meta: jsonObject.optional(), annotations: jsonObject.optional() };

const text = z.looseObject({ type: z.literal("text"), text: z.string(), ...meta });
const image = z.looseObject({ type: z.literal("image"), data: z.string(), mimeType: z.string(), ...meta });
const audio = z.looseObject({ type: z.literal("audio"), data: z.string(), mimeType: z.string(), ...meta });
const resourceLink = z.looseObject({
  type: z.literal("resource_link"),
  uri: z.string(),
  name: z.string(),
  ...meta,
});
const contents = { uri: z.string(), mimeType: z.string().optional(), _meta: jsonObject.optional() };
const embeddedResource = z.looseObject({
  type: z.literal("resource"),
  resource: z.union(
    [z.looseObject({ ...contents, text: z.string() }), z.looseObject({ ...contents, blob: z.string() })],
    "expected a resource with a uri and either text or blob",
  ),
  ...meta,
});

const BLOCK = "expected text, image, audio, resource_link or resource";

/** One block of a tool's result or a prompt's message. */
export const contentBlock = z.discriminatedUnion(
  "type",
  [text, image, audio, resourceLink, embeddedResource],
  {
    error: (issue) => (issue.code === "invalid_union" ? BLOCK : undefined),
  },
);

/** What a tool's call gives, with or without its `resultType` and `_meta`. Checked before it is committed or sent. */
export const callToolResult = z.looseObject({
  content: z.array(contentBlock),
  structuredContent: z.unknown().optional(),
  isError: z.boolean().optional(),
  resultType: z.literal("complete").optional(),
  _meta: jsonObject.optional(),
});

const toolUse = z.looseObject({
  type: z.literal("tool_use"),
  id: z.string(),
  name: z.string(),
  input: jsonObject,
  _meta: jsonObject.optional(),
});
const toolResult = z.looseObject({
  type: z.literal("tool_result"),
  toolUseId: z.string(),
  content: z.array(contentBlock),
  isError: z.boolean().optional(),
  _meta: jsonObject.optional(),
});
const samplingBlock = z.discriminatedUnion("type", [text, image, audio, toolUse, toolResult], {
  error: (issue) =>
    issue.code === "invalid_union" ? "expected text, image, audio, tool_use or tool_result" : undefined,
});

/** The result of `sampling/createMessage`. */
export const createMessageResult = z.looseObject({
  role: z.enum(["user", "assistant"], "expected user or assistant"),
  content: z.union([samplingBlock, z.array(samplingBlock)], "expected a content block or a list of them"),
  model: z.string(),
  stopReason: z.string().optional(),
});

/** The result of `elicitation/create`. Its content is checked against what was asked for by the one who asked. */
export const elicitResult = z.looseObject({
  action: z.enum(["accept", "decline", "cancel"], "expected accept, decline or cancel"),
  content: jsonObject.optional(),
});

/** The result of `roots/list`. */
export const listRootsResult = z.looseObject({
  roots: z.array(z.looseObject({ uri: z.string(), name: z.string().optional() })),
});
