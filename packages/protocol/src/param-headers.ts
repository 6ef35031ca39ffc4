import { decodeHeaderValue, singleHeader, type HeaderReader } from "./headers.ts";
import { isJsonObject, ownMember, type JsonObject, type JsonValue } from "./json.ts";
import { wireErrors } from "./wire-error.ts";

/** A tool's parameter that clients mirror into the header `Mcp-Param-<name>` (`x-mcp-header`, SEP-2243). */
export interface HeaderParam {
  readonly name: string;
  /** The chain of properties from the arguments to the value. */
  readonly path: readonly string[];
  readonly type: "string" | "integer" | "boolean";
}

/**
 * Each mirrored parameter's header says what the arguments say (streamable-http §Server Behavior for Custom Headers):
 * a value in the body needs its header, `null` or no value may have none, and after decoding a string is equal to the
 * letter, a boolean is `true` or `false`, an integer is equal as a number (`42.0` is 42). Throws `headerMismatch`
 * (-32020, 400). A body value of the wrong kind (a list, a fraction) has no header form: it is left to the validation
 * of the arguments, unless a header claims to mirror it. Headers that no parameter declares are ignored.
 */
export function checkParamHeaders(
  readHeader: HeaderReader,
  headerParams: readonly HeaderParam[],
  args: JsonObject,
): void {
  for (const { name, path } of headerParams) {
    const header = `Mcp-Param-${name}`;
    const raw = singleHeader(readHeader, header);
    const value = valueAt(args, path);
    if (raw === undefined) {
      if (isMirrored(value))
        throw wireErrors.headerMismatch(`${header} is missing, and the body has a value for it`);
    } else if (!isMirrored(value)) {
      throw wireErrors.headerMismatch(`${header} was sent, and the body has no value for it`);
    } else if (!says(decodeHeaderValue(header, raw), value)) {
      throw wireErrors.headerMismatch(`${header} does not match the body value`);
    }
  }
}

function valueAt(args: JsonObject, path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = args;
  for (const key of path) {
    if (!isJsonObject(value)) return undefined;
    value = ownMember(value, key);
  }
  return value;
}

/** Integers are compared as numbers: `42.0` is 42 (streamable-http §Server Validation). */
function says(text: string, value: string | boolean | number): boolean {
  if (typeof value === "number") return /^-?\d+(?:\.0+)?$/.test(text) && Number(text) === value;
  return text === String(value);
}

/** What has a header form: a string, a boolean, an integer that keeps its digits. */
function isMirrored(value: JsonValue | undefined): value is string | boolean | number {
  return typeof value === "string" || typeof value === "boolean" || Number.isSafeInteger(value);
}
