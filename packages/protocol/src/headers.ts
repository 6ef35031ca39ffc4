import { ownMember, type JsonObject } from "./json.ts";
import { quoted } from "./problem.ts";
import type { RequestMeta } from "./request-meta.ts";
import { SUPPORTED_VERSIONS } from "./revision.ts";
import { wireErrors } from "./wire-error.ts";

/**
 * How a transport hands over its headers: every value that came under a name, in order; none, an empty list. The name
 * is in lower case. With `node:http` this is `(name) => request.headersDistinct[name] ?? []`; never a joined value,
 * which would hide that a header was sent twice.
 */
export type HeaderReader = (name: string) => readonly string[];

const NAME_SOURCE: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/**
 * `MCP-Protocol-Version` is there once and says what `_meta` says, else `headerMismatch` (-32020, 400); and the version
 * is one that we speak, else `unsupportedVersion` (-32022, 400, `{ supported, requested }`).
 */
export function checkVersion(readHeader: HeaderReader, meta: RequestMeta): void {
  assertEqual(
    "MCP-Protocol-Version",
    requiredHeader(readHeader, "MCP-Protocol-Version"),
    meta.protocolVersion,
  );
  if (!SUPPORTED_VERSIONS.includes(meta.protocolVersion)) {
    throw wireErrors.unsupportedVersion(meta.protocolVersion);
  }
}

/**
 * `Mcp-Method` names the body's method, and `Mcp-Name` what the method is about: the tool, prompt, resource or task
 * (streamable-http §Standard Request Headers, SEP-2663 §Routing Headers). Each must be there once and, decoded, be the
 * body's value to the letter; else `headerMismatch` (-32020, 400). A body whose own value is no string is left to
 * `parseParams`.
 */
export function checkRoutingHeaders(
  readHeader: HeaderReader,
  method: string,
  params: JsonObject | undefined,
): void {
  assertEqual("Mcp-Method", requiredHeader(readHeader, "Mcp-Method"), method);
  const field = NAME_SOURCE.get(method);
  if (field === undefined) return;
  const name = decodeHeaderValue("Mcp-Name", requiredHeader(readHeader, "Mcp-Name"));
  const value = params && ownMember(params, field);
  if (typeof value === "string") assertEqual("Mcp-Name", name, value);
}

/**
 * The one value of a header without the spaces and tabs around it, or `undefined`. Throws `headerMismatch` when it came
 * twice or holds anything but visible ASCII, spaces and tabs (RFC 9110 §5.5).
 */
export function singleHeader(readHeader: HeaderReader, name: string): string | undefined {
  const values = readHeader(name.toLowerCase());
  if (values.length > 1) throw wireErrors.headerMismatch(`${name} was sent more than once`);
  const [value] = values;
  if (value === undefined) return undefined;
  if (!/^[\t\x20-\x7e]*$/.test(value)) throw wireErrors.headerMismatch(`${name} has invalid characters`);
  // Of all that `trim` takes away, these characters have the space and the tab alone.
  return value.trim();
}

/**
 * The value that a header stands for. `=?base64?…?=` is decoded, strictly: the standard alphabet, its padding, and
 * well-formed UTF-8 (streamable-http §Value Encoding); anything else is literal. Throws `headerMismatch`.
 */
export function decodeHeaderValue(name: string, value: string): string {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, "base64");
  const text = bytes.toString("utf8");
  if (bytes.toString("base64") !== encoded || !Buffer.from(text, "utf8").equals(bytes)) {
    throw wireErrors.headerMismatch(`${name} is not valid Base64 of UTF-8 text`);
  }
  return text;
}

function requiredHeader(readHeader: HeaderReader, name: string): string {
  const value = singleHeader(readHeader, name);
  if (value === undefined) throw wireErrors.headerMismatch(`${name} is missing`);
  return value;
}

function assertEqual(name: string, header: string, body: string): void {
  if (header !== body) {
    throw wireErrors.headerMismatch(
      `${name} header value ${quoted(header)} does not match body value ${quoted(body)}`,
    );
  }
}
