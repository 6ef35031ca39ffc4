import { expect, test } from "vitest";
import { z } from "zod";
import { requestedSchemaOf } from "./requested-schema.ts";
import { untyped } from "./fake-host.ts";

const form = (shape: z.core.$ZodShape): unknown => requestedSchemaOf(z.object(shape));
const field = (schema: z.ZodType): unknown => {
  const made = requestedSchemaOf(z.object({ field: schema }));
  return made.ok ? untyped(made.schema).properties.field : made.problem;
};

test("a form is a flat object with the fields in the author's order, and what is required", () => {
  expect(form({ name: z.string(), age: z.int().optional() })).toEqual({
    ok: true,
    schema: {
      type: "object",
      properties: { name: { type: "string" }, age: { type: "integer" } },
      required: ["name"],
    },
  });
});

test.each([
  [
    z.string().min(3).max(50).meta({ title: "T", description: "D" }),
    { type: "string", title: "T", description: "D", minLength: 3, maxLength: 50 },
  ],
  [z.string().default("John Doe"), { type: "string", default: "John Doe" }],
  [z.email(), { type: "string", format: "email" }],
  [z.url(), { type: "string", format: "uri" }],
  [z.iso.date(), { type: "string", format: "date" }],
  [z.iso.datetime(), { type: "string", format: "date-time" }],
  [z.uuid(), { type: "string" }],
  [z.string().regex(/^x/), { type: "string" }],
  [z.number().min(0).max(100).default(95.5), { type: "number", minimum: 0, maximum: 100, default: 95.5 }],
  [z.int().default(30), { type: "integer", default: 30 }],
  [z.number().positive(), { type: "number" }],
  [z.boolean().default(true), { type: "boolean", default: true }],
  [
    z.enum(["active", "inactive"]).default("active"),
    { type: "string", enum: ["active", "inactive"], default: "active" },
  ],
  [z.literal("only"), { type: "string", enum: ["only"] }],
  [
    z.enum(["a", "b"]).meta({ enumNames: ["A", "B"] }),
    { type: "string", enum: ["a", "b"], enumNames: ["A", "B"] },
  ],
  [
    z.union([z.literal("#f00").meta({ title: "Red" }), z.literal("#0f0")]),
    {
      type: "string",
      oneOf: [
        { const: "#f00", title: "Red" },
        { const: "#0f0", title: "#0f0" },
      ],
    },
  ],
  [
    z
      .array(z.enum(["x", "y"]))
      .min(1)
      .max(2),
    { type: "array", items: { type: "string", enum: ["x", "y"] }, minItems: 1, maxItems: 2 },
  ],
  [
    z
      .array(z.union([z.literal("x").meta({ title: "X" }), z.literal("y").meta({ title: "Y" })]))
      .default(["x"]),
    {
      type: "array",
      items: {
        anyOf: [
          { const: "x", title: "X" },
          { const: "y", title: "Y" },
        ],
      },
      default: ["x"],
    },
  ],
])("case %#: a primitive of the protocol becomes exactly its fields", (schema, expected) => {
  expect(JSON.parse(JSON.stringify(field(schema)))).toEqual(expected);
});

test.each([
  ["an object", z.object({ a: z.string() })],
  ["a list of texts", z.array(z.string())],
  ["a text or nothing", z.string().nullable()],
  ["anything", z.any()],
  ["an enum of numbers", z.literal([1, 2])],
  ["a union of types", z.union([z.string(), z.number()])],
])("%s is no field of a form", (_name, schema) => {
  expect(field(schema)).toContain("schema.field must be a string, a number, a boolean, an enum");
});

test("what has no JSON Schema is said so", () => {
  expect(field(z.date())).toContain("schema has no JSON Schema");
});
