import { describe, expect, test } from "vitest";
import { createChallenges } from "./challenge.ts";

/** Reads a challenge back as RFC 9110 §11.2 says, so that a stray quote cannot hide. */
function parse(header: string | undefined): Record<string, string> {
  const match = /^Bearer (?<fields>.*)$/.exec(header ?? "");
  const fields: Record<string, string> = {};
  let rest = match?.groups?.["fields"] ?? "";
  while (rest !== "") {
    const field = /^(?<name>[a-z_]+)="(?<value>(?:[^"\\]|\\.)*)"(?:, |$)/.exec(rest);
    if (!field?.groups) throw new Error(`not a challenge at: ${rest}`);
    fields[field.groups["name"] ?? ""] = (field.groups["value"] ?? "").replaceAll(/\\(.)/g, "$1");
    rest = rest.slice(field[0].length);
  }
  return fields;
}

const metadataUrl = "https://tasks.example/.well-known/oauth-protected-resource/mcp";
const challenges = createChallenges({ metadataUrl, requiredScopes: ["mcp"] });

describe("a challenge can be read back, whatever is put in", () => {
  test.each([
    'a "quoted" word',
    "a\\b",
    'x", error="none',
    "line\r\nSet-Cookie: a=b",
    "ünïcode \u0000\u007f",
    "\\",
  ])("the description %j", (description) => {
    const header = challenges.invalidToken(description).headers["WWW-Authenticate"];
    expect(header).toMatch(/^[\x20-\x7e]+$/);
    const fields = parse(header);
    expect(Object.keys(fields)).toEqual(["error", "error_description", "scope", "resource_metadata"]);
    expect(fields["error"]).toBe("invalid_token");
    expect(fields["error_description"]).not.toMatch(/["\\]/);
  });

  test.each(['a"b', "a\\b", "a\r\nb", "ü"])("the scope %j", (scope) => {
    const header = challenges.insufficientScope([scope]).headers["WWW-Authenticate"];
    expect(header).toMatch(/^[\x20-\x7e]+$/);
    expect(parse(header)).toMatchObject({ error: "insufficient_scope", resource_metadata: metadataUrl });
  });
});

test("a challenge names every scope once, the endpoint's first", () => {
  const header = challenges.insufficientScope(["b", "mcp", "a", "b"]).headers["WWW-Authenticate"];
  expect(parse(header)["scope"]).toBe("mcp b a");
});

test("without scopes the challenge has no scope", () => {
  const bare = createChallenges({ metadataUrl, requiredScopes: [] });
  expect(parse(bare.noToken().headers["WWW-Authenticate"])).toEqual({ resource_metadata: metadataUrl });
});

test.each([
  [-5, "1"],
  [0, "1"],
  [1, "1"],
  [1001, "2"],
  [Number.NEGATIVE_INFINITY, "1"],
])("Retry-After for %d ms is %s s", (ms, seconds) => {
  expect(challenges.unavailable(ms).headers).toEqual({ "Retry-After": seconds });
});
