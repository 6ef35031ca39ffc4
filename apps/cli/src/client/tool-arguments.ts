import { z } from "zod";
import { CliError } from "../cli-error.ts";
import { type McpClient, headerText } from "./mcp-client.ts";

const property: z.ZodType<Property> = z.looseObject({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  "x-mcp-header": z.string().optional(),
  properties: z
    .record(
      z.string(),
      z.lazy(() => property),
    )
    .optional(),
});

interface Property {
  readonly [key: string]: unknown;
  readonly type?: string | string[] | undefined;
  readonly "x-mcp-header"?: string | undefined;
  readonly properties?: Record<string, Property> | undefined;
}

const toolPage = z.looseObject({
  tools: z.array(z.looseObject({ name: z.string(), inputSchema: property })),
  nextCursor: z.string().optional(),
});

/** What a call needs beside its name. */
export interface PreparedCall {
  readonly args: Readonly<Record<string, unknown>>;
  /** `Mcp-Param-*` headers, by the tool's annotations. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Turns `key=value` words into arguments of the types that the tool's schema names. An unknown tool is an error that lists the known ones. */
export async function prepareCall(
  client: McpClient,
  tool: string,
  words: readonly string[],
): Promise<PreparedCall> {
  const schema = await findSchema(client, tool);
  const args: Record<string, unknown> = {};
  for (const word of words) {
    const at = word.indexOf("=");
    if (at < 1) throw new CliError(`"${word}" is no argument: write key=value`, 2);
    const key = word.slice(0, at);
    const declared = schema.properties ?? {};
    const type = Object.hasOwn(declared, key) ? declared[key]?.type : undefined;
    Object.defineProperty(args, key, { value: typedValue(key, word.slice(at + 1), type), enumerable: true });
  }
  return { args, headers: paramHeaders(schema, args) };
}

/** A word as the value of a declared type; without one, JSON where it is JSON, else the text. */
export function typedValue(key: string, text: string, type: string | readonly string[] | undefined): unknown {
  const types = typeof type === "string" ? [type] : (type ?? []);
  if (types.includes("string")) return text;
  try {
    return JSON.parse(text);
  } catch {
    if (types.length === 0) return text;
    throw new CliError(`${key}: "${text}" is no ${types.join(" or ")}`, 2);
  }
}

async function findSchema(client: McpClient, tool: string): Promise<Property> {
  const names: string[] = [];
  let cursor: string | undefined;
  do {
    const params = cursor === undefined ? {} : { cursor };
    const page = toolPage.parse(await client.call({ method: "tools/list", params }));
    const found = page.tools.find(({ name }) => name === tool);
    if (found) return found.inputSchema;
    names.push(...page.tools.map(({ name }) => name));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  throw new CliError(`The server has no tool "${tool}". It has: ${names.join(", ")}`, 2);
}

function paramHeaders(schema: Property, args: unknown): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [key, declared] of Object.entries(schema.properties ?? {})) {
    if (typeof args !== "object" || args === null || !Object.hasOwn(args, key)) continue;
    const value: unknown = Reflect.get(args, key);
    const name = declared["x-mcp-header"];
    if (name !== undefined && value !== null)
      headers[`mcp-param-${name}`] = headerText(typeof value === "string" ? value : JSON.stringify(value));
    Object.assign(headers, paramHeaders(declared, value));
  }
  return headers;
}
