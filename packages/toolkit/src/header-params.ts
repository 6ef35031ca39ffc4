import { isJsonObject } from "./json.ts";
import type { JsonObject, JsonValue } from "./json.ts";
import type { HeaderParam } from "./tool.ts";

/** The annotated parameters of a schema, or the first rule that one breaks. */
export type HeaderParams =
  | { readonly ok: true; readonly params: readonly HeaderParam[] }
  | { readonly ok: false; readonly problem: string };

const ANNOTATION = "x-mcp-header";
/** Keywords whose values are data, not schemas. */
const DATA = new Set(["const", "default", "enum", "examples"]);
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Finds the `x-mcp-header` annotations of an input schema and checks them by MCP tools §x-mcp-header. */
export function collectHeaderParams(inputSchema: JsonObject): HeaderParams {
  const params: HeaderParam[] = [];
  const allowed = new Set<JsonValue>();
  const problem = visit(inputSchema, [], { params, allowed }) ?? strayIn(inputSchema, allowed, "#");
  return problem === undefined ? { ok: true, params } : { ok: false, problem };
}

interface Found {
  readonly params: HeaderParam[];
  /** The schemas whose annotation is reachable through `properties` alone. */
  readonly allowed: Set<JsonValue>;
}

function visit(schema: JsonObject, path: readonly string[], found: Found): string | undefined {
  const name = schema[ANNOTATION];
  if (name !== undefined && path.length > 0) {
    const where = `${ANNOTATION} of ${path.join(".")}`;
    const type = headerType(schema["type"]);
    if (typeof name !== "string" || !TOKEN.test(name))
      return `${where} must be an HTTP token: letters, digits and !#$%&'*+-.^_\`|~`;
    if (type === undefined) return `${where}: only string, integer and boolean parameters can be headers`;
    if (type === "integer" && !isSafeRange(schema))
      return `${where}: an integer header must stay within ±(2^53 - 1), as z.int() does`;
    const twin = found.params.find((param) => param.name.toLowerCase() === name.toLowerCase());
    if (twin) return `${where}: ${twin.path.join(".")} has the header ${JSON.stringify(twin.name)} already`;
    found.params.push({ name, path, type });
    found.allowed.add(schema);
  }
  const properties = schema["properties"];
  if (!isJsonObject(properties)) return undefined;
  for (const [key, property] of Object.entries(properties)) {
    const problem = isJsonObject(property) ? visit(property, [...path, key], found) : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function strayIn(
  value: JsonValue | undefined,
  allowed: ReadonlySet<JsonValue>,
  at: string,
): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (isJsonObject(value) && typeof value[ANNOTATION] === "string" && !allowed.has(value))
    return `${ANNOTATION} at ${at}: only properties of objects can be headers, not array items, unions or references`;
  for (const [key, item] of Object.entries(value)) {
    const problem = DATA.has(key) ? undefined : strayIn(item, allowed, `${at}/${key}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function headerType(type: JsonValue | undefined): HeaderParam["type"] | undefined {
  return type === "string" || type === "integer" || type === "boolean" ? type : undefined;
}

function isSafeRange(schema: JsonObject): boolean {
  const limit = Number.MAX_SAFE_INTEGER;
  const within = (bound: JsonValue | undefined): boolean =>
    bound === undefined || (typeof bound === "number" && Math.abs(bound) <= limit);
  return within(schema["minimum"]) && within(schema["maximum"]);
}
