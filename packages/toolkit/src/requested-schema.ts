import { z } from "zod";
import type { JsonObject } from "./json.ts";

/** A form for a person, or why a schema is none. */
export type RequestedSchema =
  | { readonly ok: true; readonly schema: JsonObject }
  | { readonly ok: false; readonly problem: string };

const option = z.object({ const: z.string(), title: z.string().optional() });
const named = { title: z.string().optional(), description: z.string().optional() };
const formats = z.enum(["email", "uri", "date", "date-time"]);

/*
 * What zod makes of each primitive, narrowed to the fields of MCP elicitation §Requested Schema. What those have no
 * word for (patterns, exclusive bounds, steps) is left out of the form and still checked when the answer is in.
 */
const text = z.object({
  type: z.literal("string"),
  ...named,
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  format: formats.optional().catch(undefined),
  default: z.string().optional(),
});
const amount = z
  .object({
    type: z.enum(["number", "integer"]),
    ...named,
    minimum: z.number().optional(),
    maximum: z.number().optional(),
    default: z.number().optional(),
    enum: z.never().optional(),
    const: z.never().optional(),
  })
  .transform(({ minimum, maximum, ...rest }) => ({
    ...rest,
    ...(minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER && { minimum }),
    ...(maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER && { maximum }),
  }));
const yesOrNo = z.object({ type: z.literal("boolean"), ...named, default: z.boolean().optional() });
const choice = z.object({
  type: z.literal("string"),
  ...named,
  enum: z.array(z.string()),
  enumNames: z.array(z.string()).optional(),
  default: z.string().optional(),
});
const onlyChoice = z
  .object({ type: z.literal("string"), ...named, const: z.string(), default: z.string().optional() })
  .transform(({ const: only, ...rest }) => ({ ...rest, enum: [only] }));
const titledChoice = z
  .object({ ...named, anyOf: z.array(option), default: z.string().optional() })
  .transform(({ anyOf, ...rest }) => ({ type: "string", ...rest, oneOf: anyOf.map(titled) }));
const several = { minItems: z.number().optional(), maxItems: z.number().optional() };
const choices = z.object({
  type: z.literal("array"),
  ...named,
  ...several,
  items: z.object({ type: z.literal("string"), enum: z.array(z.string()) }),
  default: z.array(z.string()).optional(),
});
const titledChoices = z
  .object({
    type: z.literal("array"),
    ...named,
    ...several,
    items: z.object({ anyOf: z.array(option) }),
    default: z.array(z.string()).optional(),
  })
  .transform(({ items, ...rest }) => ({ ...rest, items: { anyOf: items.anyOf.map(titled) } }));

const primitive = z.union([choice, onlyChoice, text, amount, yesOrNo, choices, titledChoices, titledChoice]);
const form = z.object({
  type: z.literal("object"),
  properties: z.record(z.string(), z.unknown()),
  required: z.array(z.string()).optional(),
});

/** The `requestedSchema` of a form: a flat object of strings, numbers, booleans, enums and lists of enums. */
export function requestedSchemaOf(schema: z.ZodObject): RequestedSchema {
  let made: unknown;
  try {
    made = JSON.parse(JSON.stringify(schema.toJSONSchema({ io: "input" })));
  } catch (error) {
    return {
      ok: false,
      problem: `schema has no JSON Schema: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
  const flat = form.safeParse(made);
  if (!flat.success) return { ok: false, problem: "schema must be an object, as z.object({ … })" };
  const fields = Object.entries(flat.data.properties).map(
    ([name, property]) => [name, primitive.safeParse(property)] as const,
  );
  const odd = fields.find(([, field]) => !field.success);
  if (odd)
    return {
      ok: false,
      problem: `schema.${odd[0]} must be a string, a number, a boolean, an enum of strings or a list of those (MCP elicitation §Requested Schema)`,
    };
  const properties = Object.fromEntries(fields.map(([name, field]) => [name, field.data]));
  return {
    ok: true,
    schema: { type: "object", properties, ...(flat.data.required && { required: flat.data.required }) },
  };
}

function titled({ const: value, title }: z.infer<typeof option>): JsonObject {
  return { const: value, title: title ?? value };
}
