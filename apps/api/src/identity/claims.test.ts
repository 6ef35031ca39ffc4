import { describe, expect, test } from "vitest";
import type { ClaimRules } from "./claims.ts";
import { judgeClaims, parseClaimPath } from "./claims.ts";
import { GOOD_CLAIMS, START_MS } from "./test-issuer.ts";

const rules: ClaimRules = {
  issuer: GOOD_CLAIMS.iss,
  audience: [GOOD_CLAIMS.aud, "second"],
  clockToleranceMs: 5000,
  tenantPath: ["tenant"],
  principalPath: ["sub"],
};
const judgeText = (text: string, over: Partial<ClaimRules> = {}, nowMs = START_MS) =>
  judgeClaims(new TextEncoder().encode(text), { ...rules, ...over }, nowMs);
const judge = (claims: object, over: Partial<ClaimRules> = {}, nowMs = START_MS) =>
  judgeText(JSON.stringify({ ...GOOD_CLAIMS, ...claims }), over, nowMs);
const OK = expect.objectContaining({ verdict: "ok" });
const refused = (description: string) => ({ verdict: "refused", description });

describe("issuer and audience", () => {
  test.each([
    undefined,
    null,
    "",
    "https://issuer.example/",
    "HTTPS://issuer.example",
    ["https://issuer.example"],
  ])("the issuer %j is another one", (iss) =>
    expect(judge({ iss })).toEqual(refused("The token is from another issuer")),
  );
  test.each([undefined, null, "", [], {}, "https://tasks.example/mcp/", ["other", 1, null], [["second"]]])(
    "the audience %j is another one",
    (aud) => expect(judge({ aud })).toEqual(refused("The token is for another audience")),
  );
  test.each(["second", ["other", "second"]])("the audience %j is ours", (aud) =>
    expect(judge({ aud })).toEqual(OK),
  );
});

describe("time", () => {
  const s = START_MS / 1000;
  test.each([
    ["exp long ahead", { exp: s + 60 }, "ok"],
    ["exp now", { exp: s }, "ok"],
    ["exp 1 ms inside the tolerance", { exp: s - 4.999 }, "ok"],
    ["exp at the tolerance", { exp: s - 5 }, "The token has expired"],
    ["exp beyond the tolerance", { exp: s - 6 }, "The token has expired"],
    ["exp zero", { exp: 0 }, "The token has expired"],
    ["exp negative", { exp: -1 }, "The token has expired"],
    ["no exp", { exp: undefined }, "The token has no valid exp"],
    ["exp as text", { exp: String(s + 60) }, "The token has no valid exp"],
    ["exp null", { exp: null }, "The token has no valid exp"],
    ["exp in a list", { exp: [s + 60] }, "The token has no valid exp"],
    ["exp beyond any date", { exp: 1e300 }, "The token has no valid exp"],
    ["nbf past", { nbf: s - 1 }, "ok"],
    ["nbf at the tolerance", { nbf: s + 5 }, "ok"],
    ["nbf 1 ms beyond the tolerance", { nbf: s + 5.001 }, "The token is not valid yet"],
    ["nbf as text", { nbf: "0" }, "The token has no valid nbf"],
    ["nbf null", { nbf: null }, "The token has no valid nbf"],
  ])("%s", (_title, claims, verdict) => {
    expect(judge(claims)).toEqual(verdict === "ok" ? OK : refused(verdict));
  });

  test("an infinite exp is none", () => {
    const text = JSON.stringify(GOOD_CLAIMS).replace(String(GOOD_CLAIMS.exp), "1e999");
    expect(judgeText(text)).toEqual(refused("The token has no valid exp"));
  });
});

describe("tenant and principal", () => {
  const rule = "must be a text of 1 to 256 characters without control characters";
  const BAD = [
    undefined,
    null,
    "",
    7,
    true,
    [],
    ["acme"],
    {},
    "x".repeat(257),
    "a\u0000b",
    "a\nb",
    "a\u007fb",
    "a\u0085b",
    "a\u2028b",
    "a\ud800b",
  ];

  test.each(BAD)("%j is no name", (value) => {
    expect(judge({ tenant: value })).toEqual(refused(`The token's tenant claim ${rule}`));
    expect(judge({ sub: value })).toEqual(refused(`The token's principal claim ${rule}`));
  });
  test.each(["a", "x".repeat(256), "Ünïted 公司 👩‍🚀", "auth0|5f7c", "__proto__", "a:b{c}|d"])(
    "%j is a name",
    (name) => {
      expect(judge({ tenant: name, sub: name })).toMatchObject({
        identity: { tenant: name, principal: name },
      });
    },
  );

  test.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
    "the claim %s is not there unless the token itself has it",
    (claim) => {
      const over = { tenantPath: parseClaimPath(claim, "tenantClaim") };
      expect(judge({}, over).verdict).toBe("refused");
      const text = JSON.stringify(GOOD_CLAIMS).replace("{", `{${JSON.stringify(claim)}:"t1",`);
      expect(judgeText(text, over)).toMatchObject({ identity: { tenant: "t1" } });
    },
  );

  test("a claim's name may hold dots and slashes; a leading slash makes it a path", () => {
    const claims = {
      "org.id": "dotted",
      "https://x.example/org": "url",
      org: { id: "nested", "a/b": "odd", list: ["l"] },
    };
    const tenantAt = (claim: string) => {
      const verdict = judge(claims, { tenantPath: parseClaimPath(claim, "tenantClaim") });
      return verdict.verdict === "ok" ? verdict.identity.tenant : undefined;
    };
    expect(tenantAt("org.id")).toBe("dotted");
    expect(tenantAt("https://x.example/org")).toBe("url");
    expect(tenantAt("/org/id")).toBe("nested");
    expect(tenantAt("/org/a~1b")).toBe("odd");
    expect(tenantAt("/org/constructor/name")).toBeUndefined();
    expect(tenantAt("/org/list/0")).toBeUndefined();
    expect(tenantAt("/sub/length")).toBeUndefined();
  });
});

test("a polluted prototype fills in no claim", () => {
  const { tenant, exp, ...rest } = GOOD_CLAIMS;
  Object.assign(Object.prototype, { tenant, exp, scope: "admin" });
  try {
    expect(judgeText(JSON.stringify({ ...rest, exp })).verdict).toBe("refused");
    expect(judgeText(JSON.stringify({ ...rest, tenant })).verdict).toBe("refused");
    expect(judge({})).toMatchObject({ identity: { scopes: [] } });
  } finally {
    for (const name of ["tenant", "exp", "scope"]) Reflect.deleteProperty(Object.prototype, name);
  }
});

describe("scopes", () => {
  test.each([
    [{}, []],
    [{ scope: "" }, []],
    [{ scope: "a b  a" }, ["a", "b"]],
    [{ scope: ["a", "b"] }, ["a", "b"]],
    [{ scp: "a b" }, ["a", "b"]],
    [{ scp: ["a", "b"] }, ["a", "b"]],
    [{ scope: "a", scp: ["b"] }, ["a"]],
  ])("%j grants %j", (claims, scopes) => {
    expect(judge(claims)).toMatchObject({ identity: { scopes } });
  });
  test.each([{ scope: 1 }, { scope: {} }, { scp: ["a", 1] }, { scp: [["a"]] }])("%j is refused", (claims) => {
    expect(judge(claims)).toEqual(refused("The token's scopes are neither a text nor a list of texts"));
  });
});

test("a client id that is no plain name is left out", () => {
  expect(judge({ client_id: "a\nb" })).not.toHaveProperty("identity.clientId");
  expect(judge({ azp: "ide" })).toMatchObject({ identity: { clientId: "ide" } });
});

test.each(["", "null", "[]", '"text"', "{", "{}}"])("the payload %j is refused", (text) => {
  expect(judgeText(text)).toEqual(refused("The token's payload is not a JSON object"));
});

test("a payload that is not UTF-8 is refused", () => {
  expect(judgeClaims(Uint8Array.of(0x7b, 0xff, 0x7d), rules, START_MS)).toEqual(
    refused("The token's payload is not a JSON object"),
  );
});

test("no refusal repeats what the token or the configuration says", () => {
  for (const claims of [
    { iss: "SECRET-1" },
    { aud: "SECRET-1" },
    { tenant: ["SECRET-1"] },
    { sub: "SECRET-1\n" },
  ]) {
    const text = JSON.stringify(judge(claims));
    for (const secret of ["SECRET-1", ...Object.values(GOOD_CLAIMS).map(String)])
      expect(text).not.toContain(secret);
  }
});
