import { once } from "node:events";
import { createServer } from "node:http";
import { CompactSign, exportSPKI, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createTokenVerifier } from "./token-verifier.ts";
import type { Refused, Verdict } from "./identity.ts";
import type { TokenVerifierOptions } from "./token-verifier-options.ts";
import type { TokenVerifier } from "./token-verifier.ts";
import {
  createTestClock,
  createTestKey,
  GOOD_CLAIMS,
  startTestIssuer,
  portOf,
  START_MS,
  testOptions,
  verifyAll,
} from "./test-issuer.ts";
import type { TestIssuer, TestKey } from "./test-issuer.ts";

let key: TestKey;
let issuer: TestIssuer;
beforeAll(async () => {
  key = await createTestKey();
  issuer = await startTestIssuer(key.publicJwk);
});
afterAll(() => issuer[Symbol.asyncDispose]());

const make = (over: Partial<TokenVerifierOptions> = {}) => {
  const clock = createTestClock();
  return { clock, verifier: createTokenVerifier(testOptions(issuer.jwksUrl, over), clock) };
};
const verdictOf = async (token: string, over: Partial<TokenVerifierOptions> = {}): Promise<Verdict> =>
  make(over).verifier.verify(`Bearer ${token}`);
const refusalOf = async (verdict: Verdict | Promise<Verdict>): Promise<Refused> => {
  const given = await verdict;
  if (given.verdict !== "refused") throw new Error("it was accepted");
  return given;
};
/** Why a token is an invalid one, by a proper 401. */
const complaintOf = async (token: string, over: Partial<TokenVerifierOptions> = {}): Promise<string> => {
  const { status, error, description, headers } = await refusalOf(verdictOf(token, over));
  expect([status, error]).toEqual([401, "invalid_token"]);
  expect(headers["WWW-Authenticate"]).toContain(`error="invalid_token", error_description="${description}"`);
  return description;
};
const remember = async (over: Partial<TokenVerifierOptions> = {}) => {
  const made = make(over);
  const header = `Bearer ${await key.sign()}`;
  expect(await made.verifier.verify(header)).toMatchObject({ verdict: "ok" });
  return { ...made, header };
};
const isAtOnce = (verifier: TokenVerifier, header: string): boolean =>
  !(verifier.verify(header) instanceof Promise);
const signWith = async (header: object): Promise<string> =>
  new CompactSign(new TextEncoder().encode(JSON.stringify(GOOD_CLAIMS)))
    .setProtectedHeader({ alg: "ES256", kid: key.kid, ...header })
    .sign(key.privateKey, { crit: { "urn:x": true } });

describe("a good token", () => {
  test("gives tenant, principal, scopes, client and the instant of its end", async () => {
    const token = await key.sign({ scope: "tasks:read tasks:write", client_id: "ide" });
    expect(await verdictOf(token)).toEqual({
      verdict: "ok",
      identity: {
        tenant: "acme",
        principal: "alice",
        scopes: ["tasks:read", "tasks:write"],
        expiresAtMs: START_MS + 3_605_000,
        clientId: "ide",
      },
    });
  });

  test.each(["ES256", "EdDSA", "RS256", "PS256"])("may be signed with %s", async (alg) => {
    const other = await createTestKey(alg, "other");
    await using theirs = await startTestIssuer(key.publicJwk, other.publicJwk);
    const verifier = createTokenVerifier(testOptions(theirs.jwksUrl), createTestClock());
    expect(await verifier.verify(`Bearer ${await other.sign()}`)).toMatchObject({ verdict: "ok" });
  });

  test.each(["bearer ", "BEARER  "])("may come with the scheme written as %j", async (scheme) => {
    expect(await make().verifier.verify(scheme + (await key.sign()))).toMatchObject({ verdict: "ok" });
  });

  test.each(["JWT", "at+jwt", "application/at+jwt", "AT+JWT"])("may say that its type is %s", async (typ) => {
    expect(await verdictOf(await key.sign({}, { typ }))).toMatchObject({ verdict: "ok" });
  });

  test("without a key id is tried with each key that fits", async () => {
    const [first, second] = [await createTestKey("ES256", "a"), await createTestKey("ES256", "b")];
    await using theirs = await startTestIssuer(first.publicJwk, second.publicJwk);
    const verifier = createTokenVerifier(testOptions(theirs.jwksUrl), createTestClock());
    expect(await verifier.verify(`Bearer ${await second.sign({}, { kid: undefined })}`)).toMatchObject({
      verdict: "ok",
    });
    const strange = await createTestKey("ES256", "c");
    expect(await verifier.verify(`Bearer ${await strange.sign({}, { kid: undefined })}`)).toMatchObject({
      description: "The token's signature is not valid",
    });
  });
});

describe("credentials that are none", () => {
  test.each([undefined, "", "Basic YTpi", "Bearerx", [], "Token abc"])(
    "%j gets a challenge without an error code",
    async (header) => {
      const refusal = await refusalOf(make({ requiredScopes: ["tasks:use"] }).verifier.verify(header));
      expect(refusal.status).toBe(401);
      expect(refusal.error).toBeUndefined();
      expect(refusal.headers).toEqual({
        "WWW-Authenticate":
          'Bearer scope="tasks:use", resource_metadata="https://tasks.example/.well-known/oauth-protected-resource/mcp"',
      });
    },
  );

  test("two Authorization headers are refused, even when one of them is good", async () => {
    const good = `Bearer ${await key.sign()}`;
    const refusal = await refusalOf(make().verifier.verify([good, good]));
    expect(refusal).toMatchObject({ status: 400, error: "invalid_request" });
    expect(await make().verifier.verify([good])).toMatchObject({ verdict: "ok" });
  });

  test.each(["", "a", "a.b", "a.b.c.d", "a.b.c d", "ä.b.c", "a.b.c,", "..", "a.b.c\u0000"])(
    "the bearer %j is refused before any key is asked for",
    async (token) => {
      const { verifier } = make();
      expect(await verifier.verify(`Bearer ${token}`)).toMatchObject({ status: 401, error: "invalid_token" });
      expect(verifier.stats()).toMatchObject({ misses: 0, keyFetches: 0, refused: 1 });
    },
  );

  test("a token over 8 KB is refused before it is parsed, one of 8 KB is read", async () => {
    const { verifier } = make();
    const long = await key.sign({ pad: "x".repeat(8000) });
    expect(await verifier.verify(`Bearer ${long}`)).toMatchObject({
      description: "The token is too long: at most 8 KB",
    });
    expect(verifier.stats()).toMatchObject({ misses: 0, keyFetches: 0 });
    const [head = "", body = ""] = (await key.sign({ pad: "x".repeat(5000) })).split(".");
    expect(await complaintOf(`${head}.${body}.${"A".repeat(8192 - head.length - body.length - 2)}`)).toBe(
      "The token's signature is not valid",
    );
  });
});

describe("a forged token", () => {
  test("with alg none is refused, and no key is asked for", async () => {
    const { verifier } = make();
    const token = new UnsecuredJWT(GOOD_CLAIMS).encode();
    expect(await verifier.verify(`Bearer ${token}`)).toMatchObject({
      description: "The token's algorithm is not allowed",
    });
    expect(verifier.stats().keyFetches).toBe(0);
  });

  test("signed by HS256 with the public key as the secret is refused", async () => {
    const publicKey = await crypto.subtle.importKey(
      "jwk",
      key.publicJwk,
      { name: "ECDSA", namedCurve: "P-256" },
      true,
      ["verify"],
    );
    const pem = new TextEncoder().encode(await exportSPKI(publicKey));
    const jwk = new TextEncoder().encode(JSON.stringify(key.publicJwk));
    for (const secret of [pem, jwk]) {
      const token = await new SignJWT(GOOD_CLAIMS)
        .setProtectedHeader({ alg: "HS256", kid: key.kid })
        .sign(secret);
      expect(await complaintOf(token)).toBe("The token's algorithm is not allowed");
    }
  });

  test("whose algorithm is asymmetric but not on the list is refused", async () => {
    const other = await createTestKey("ES384");
    expect(await complaintOf(await other.sign())).toBe("The token's algorithm is not allowed");
  });

  test("signed by a stranger under a known key id is refused", async () => {
    const stranger = await createTestKey("ES256", key.kid);
    expect(await complaintOf(await stranger.sign())).toBe("The token's signature is not valid");
  });

  test("whose payload was changed after signing is refused", async () => {
    const [head = "", , signature = ""] = (await key.sign()).split(".");
    const body = Buffer.from(JSON.stringify({ ...GOOD_CLAIMS, tenant: "globex" })).toString("base64url");
    expect(await complaintOf(`${head}.${body}.${signature}`)).toBe("The token's signature is not valid");
    expect(await complaintOf(`${head}.${body}.`)).toBe("The token's signature is not valid");
  });

  test.each([
    "../../../etc/passwd",
    "__proto__",
    "constructor",
    "' OR 1=1 --",
    "http://evil.example/k",
    "",
    "\u0000",
    "k".repeat(256),
  ])("with the unknown key id %j is refused", async (kid) => {
    const stranger = await createTestKey("ES256", kid);
    expect(await complaintOf(await stranger.sign())).toBe("The token was signed with an unknown key");
    expect(issuer.asked.every((path) => path === "/jwks.json")).toBe(true);
  });

  test.each([["k".repeat(257)], [1], [null], [["key-1"]], [{}]])(
    "with the key id %j, no short text, is refused",
    async (kid) => {
      const head = Buffer.from(JSON.stringify({ alg: "ES256", kid })).toString("base64url");
      expect(await complaintOf(`${head}.e30.AAAA`)).toBe("The token's key id is malformed");
    },
  );

  test("that brings its own key by jwk, jku or x5u is refused, and the address is never asked", async () => {
    const visits: string[] = [];
    const evil = createServer((req, res) => {
      visits.push(req.url ?? "");
      res.end(JSON.stringify({ keys: [stranger.publicJwk] }));
    }).listen(0, "127.0.0.1");
    await once(evil, "listening");
    const address = `http://127.0.0.1:${portOf(evil)}/keys`;
    const stranger = await createTestKey("ES256", "theirs");
    for (const header of [
      { jwk: stranger.publicJwk },
      { jku: address },
      { x5u: address },
      { jku: address, kid: undefined },
    ]) {
      expect(await verdictOf(await stranger.sign({}, header))).toMatchObject({
        status: 401,
        error: "invalid_token",
      });
      expect(await verdictOf(await key.sign({}, header))).toMatchObject({ verdict: "ok" });
    }
    expect(visits).toEqual([]);
    evil.close();
  });

  test("that asks for an extension by crit is refused, even one that the library knows", async () => {
    expect(await complaintOf(await signWith({ crit: ["urn:x"], "urn:x": 1 }))).toBe(
      "The token needs an extension that is not supported",
    );
    expect(await complaintOf(await signWith({ crit: ["b64"], b64: true }))).toBe(
      "The token needs an extension that is not supported",
    );
  });

  test.each(["logout+jwt", "dpop+jwt", "", 1, null])("of the type %j is refused", async (typ) => {
    const head = Buffer.from(JSON.stringify({ alg: "ES256", kid: key.kid, typ })).toString("base64url");
    expect(await complaintOf(`${head}.e30.AAAA`)).toBe("The token is not an access token");
  });
});

describe("scopes", () => {
  test("a token without a scope that the endpoint needs gets 403, remembered or not", async () => {
    const { verifier } = make({ requiredScopes: ["tasks:use", "mcp"] });
    const header = `Bearer ${await key.sign({ scope: "mcp" })}`;
    for (const verdict of [await verifier.verify(header), verifier.verify(header)]) {
      expect(verdict).toEqual({
        verdict: "refused",
        status: 403,
        error: "insufficient_scope",
        description: "The token lacks a scope that this needs",
        headers: {
          "WWW-Authenticate":
            'Bearer error="insufficient_scope", error_description="The token lacks a scope that this needs", scope="tasks:use mcp", resource_metadata="https://tasks.example/.well-known/oauth-protected-resource/mcp"',
        },
      });
    }
    expect(await verifier.verify(`Bearer ${await key.sign({ scp: ["mcp", "tasks:use"] })}`)).toMatchObject({
      verdict: "ok",
    });
  });

  test("the challenge of an operation names all that it needs, the endpoint's scopes included", () => {
    const { verifier } = make({ requiredScopes: ["mcp"] });
    expect(verifier.insufficientScope(["reports:write", "mcp"]).headers["WWW-Authenticate"]).toContain(
      'scope="mcp reports:write"',
    );
  });
});

describe("a verified token", () => {
  test("is remembered and answered at once", async () => {
    const { verifier, header } = await remember();
    expect(verifier.verify(header)).toMatchObject({ verdict: "ok", identity: { tenant: "acme" } });
    expect(verifier.stats()).toMatchObject({ cached: 1, hits: 1, misses: 1, refused: 0 });
  });

  test("is checked once when many requests bring it at the same time", async () => {
    const { verifier } = make();
    const token = await key.sign();
    const verdicts = await verifyAll(
      verifier,
      Array.from({ length: 200 }, () => token),
    );
    expect(new Set(verdicts.map((verdict) => verdict.verdict))).toEqual(new Set(["ok"]));
    expect(verifier.stats()).toMatchObject({ misses: 1, keyFetches: 1 });
  });

  test("is refused from the same instant on whether it is remembered or new", async () => {
    const { clock, verifier, header } = await remember();
    const fresh = make();
    for (const [ms, verdict] of [
      [3_604_999, "ok"],
      [3_605_000, "refused"],
      [3_605_001, "refused"],
      [9_000_000, "refused"],
    ] as const) {
      clock.set(START_MS + ms);
      fresh.clock.set(START_MS + ms);
      const remembered = await verifier.verify(header);
      expect(remembered.verdict).toBe(verdict);
      expect(await createTokenVerifier(testOptions(issuer.jwksUrl), fresh.clock).verify(header)).toEqual(
        remembered,
      );
    }
    expect(verifier.stats().cached).toBe(0);
  });

  test("is forgotten when there are too many; the one not used the longest goes first", async () => {
    const { verifier, header } = await remember({ cacheSize: 2 });
    const second = `Bearer ${await key.sign({ jti: "2" })}`;
    await verifier.verify(second);
    expect(isAtOnce(verifier, header)).toBe(true);
    await verifier.verify(`Bearer ${await key.sign({ jti: "3" })}`);
    expect(verifier.stats().cached).toBe(2);
    expect(isAtOnce(verifier, header)).toBe(true);
    expect(isAtOnce(verifier, second)).toBe(false);
  });

  test("is not remembered at all with a cache of 0", async () => {
    const { verifier, header } = await remember({ cacheSize: 0 });
    expect(isAtOnce(verifier, header)).toBe(false);
    expect(verifier.stats().cached).toBe(0);
  });

  test("keeps no memory of a refused one", async () => {
    const { verifier } = make();
    await verifier.verify(`Bearer ${await key.sign({ aud: "other" })}`);
    expect(verifier.stats()).toMatchObject({ cached: 0, refused: 1 });
  });

  test("cannot be changed by who receives its identity", async () => {
    const { verifier, header } = await remember();
    const verdict = await verifier.verify(header);
    const identity = verdict.verdict === "ok" ? verdict.identity : undefined;
    expect([identity, identity?.scopes].map((part) => part !== undefined && Object.isFrozen(part))).toEqual([
      true,
      true,
    ]);
  });
});

describe("options that make no sense are refused before anything starts", () => {
  test.each([
    ["algorithms", { algorithms: ["HS256"] }],
    ["algorithms", { algorithms: ["ES256", "none"] }],
    ["algorithms", { algorithms: ["es256"] }],
    ["algorithms", { algorithms: [] }],
    ["issuer", { issuer: "" }],
    ["audience", { audience: [] }],
    ["audience", { audience: [""] }],
    ["jwks", { jwks: "" }],
    ["jwks", { jwks: "http://issuer.example/jwks.json" }],
    ["jwks", { jwks: "ftp://127.0.0.1/jwks.json" }],
    ["jwks", { jwks: "https://user:secret@issuer.example/jwks.json" }],
    ["jwks", { jwks: "https://" }],
    ["clockToleranceMs", { clockToleranceMs: -1 }],
    ["clockToleranceMs", { clockToleranceMs: Number.NaN }],
    ["cacheSize", { cacheSize: 1.5 }],
    ["tenantClaim", { tenantClaim: "" }],
    ["principalClaim", { principalClaim: "/org//id" }],
    ["requiredScopes", { requiredScopes: ["two words"] }],
    ["requiredScopes", { requiredScopes: ['quo"te'] }],
  ] as const)("%s: %j", (option, over) => {
    const oneLine = expect.stringMatching(/^(?!.*secret@).{10,200}$/);
    expect(() => make(over)).toThrow(
      expect.objectContaining({ code: "bad_option", option, message: oneLine }),
    );
  });
});
