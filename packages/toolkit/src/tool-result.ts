import { z } from "zod";
import { contentBlockSchema } from "./content.ts";
import type { ContentBlock } from "./content.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import { jsonText } from "./json-text.ts";
import { problemOf } from "./problem-of.ts";
import { KIND } from "./tool.ts";
import type { Parsed } from "./tool.ts";

/** The parts of a `CallToolResult` that an author says. `content` may be left out when there is `structuredContent`: its JSON is the text then. */
export interface ToolResultParts {
  readonly content?: readonly ContentBlock[];
  readonly structuredContent?: JsonValue;
  readonly isError?: boolean;
  readonly _meta?: JsonObject;
}

/** Made by `toolResult`. */
export interface ToolResult {
  readonly [KIND]: "result";
  readonly parts: ToolResultParts;
}

/** A result said in full, for content that is not text, or an error result with structure. */
export function toolResult(parts: ToolResultParts): ToolResult {
  return { [KIND]: "result", parts };
}

const resultSchema = z.object({
  [KIND]: z.literal("result"),
  parts: z.strictObject({
    content: z.array(contentBlockSchema).optional(),
    structuredContent: z.unknown().optional(),
    isError: z.boolean().optional(),
    _meta: z.looseObject({}).optional(),
  }),
});

/**
 * A `CallToolResult` (without `resultType` and `_meta` of the server) of what a tool's function returned: text of a string;
 * structure, and its JSON as text, of any other JSON value; nothing of nothing. Structure is checked against `output`.
 */
export function makeCallToolResult(returned: unknown, output: z.ZodType | undefined): Parsed {
  if (!isToolResult(returned)) {
    if (output) return withStructure({}, returned, output);
    if (returned === undefined) return { ok: true, value: { content: [] } };
    if (typeof returned === "string") return { ok: true, value: { content: [textOf(returned)] } };
    return withStructure({}, returned, undefined);
  }
  const said = resultSchema.safeParse(returned);
  if (!said.success) return { ok: false, problem: problemOf(said.error) };
  const { structuredContent, ...parts } = said.data.parts;
  if (structuredContent !== undefined || (output && parts.isError !== true))
    return withStructure(parts, structuredContent, parts.isError === true ? undefined : output);
  return plain({ ...parts, content: parts.content ?? [] });
}

/** Takes a copy of the result, so that a tool that goes on to change it changes nothing. */
function withStructure(parts: JsonObjectLike, structured: unknown, output: z.ZodType | undefined): Parsed {
  let value = structured;
  if (output) {
    const parsed = output.safeParse(structured);
    if (!parsed.success) return { ok: false, problem: problemOf(parsed.error, "structuredContent") };
    value = parsed.data;
  }
  const json = jsonText(value);
  if (!json.ok) return { ok: false, problem: `structuredContent${json.problem}` };
  return plain({ content: [textOf(json.text)], ...parts, structuredContent: value });
}

type JsonObjectLike = Readonly<Record<string, unknown>>;

function plain(result: JsonObjectLike): Parsed {
  const json = jsonText(result);
  return json.ok
    ? { ok: true, value: JSON.parse(json.text) }
    : { ok: false, problem: `the result${json.problem}` };
}

function textOf(text: string): ContentBlock {
  return { type: "text", text };
}

function isToolResult(value: unknown): value is ToolResult {
  return typeof value === "object" && value !== null && KIND in value && value[KIND] === "result";
}
