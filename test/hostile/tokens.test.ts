import { createServer } from "node:http";
import { createWireClient, until } from "@perdure/testkit";
import type { WireClient } from "@perdure/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createForger, goodClaims } from "./forger.ts";
import type { ForgedToken, Forger } from "./forger.ts";
import { errorOf, startHostileBench } from "./replica-bench.ts";
import type { HostileBench } from "./replica-bench.ts";

/* Tokens that nobody should trust, at two running replicas: each gets 401 and a challenge, and says nothing of why to guess on. */

const TOLERANCE_MS = 2000;

let bench: HostileBench;
let forger: Forger;
/** Where hostile headers point to, and how often anybody came. */
let lure: { readonly url: string; visits: number; readonly stop: () => void };

beforeAll(async () => {
  const server = createServer((_request, response) => {
    lure.visits += 1;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ keys: [{ ...forger.ownJwk, kid: "own", alg: "ES256" }] }));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  lure = { url: `http://127.0.0.1:${port}/keys`, visits: 0, stop: () => server.close() };
  bench = await startHostileBench({
    replicas: 2,
    env: { PERDURE_CLOCK_TOLERANCE_MS: String(TOLERANCE_MS) },
  });
  forger = await createForger(bench.cluster);
  await until(async () => (await statusOf(forger.token())) === 200, {
    what: "the forger's good token to pass",
  });
});
afterAll(async () => {
  lure?.stop();
  await bench?.[Symbol.asyncDispose]();
});

async function statusOf(token: string): Promise<number> {
  return (await bench.send({ headers: { authorization: `Bearer ${token}` } })).status;
}

function clientOf(token: string, replica = 0): WireClient {
  return createWireClient({ url: bench.cluster.replicas[replica]?.url ?? "", token });
}

test("good tokens of every trusted key pass", async () => {
  expect(await statusOf(forger.token())).toBe(200);
  expect(await statusOf(forger.token({ header: { alg: "RS256", kid: "rsa" } }))).toBe(200);
  expect(await statusOf(forger.token({ header: { kid: undefined } }))).toBe(401);
});

const own = (): ForgedToken => ({ key: forger.ownKey });
const now = (): number => Math.floor(Date.now() / 1000);
const withClaim = (name: string, value: unknown): (() => ForgedToken) => {
  return () => ({ claims: { [name]: value } });
};

describe("is refused with 401 and a challenge: a token", () => {
  test.each<[string, () => ForgedToken]>([
    ["with alg none and no signature", () => ({ header: { alg: "none" }, key: "" })],
    ["with alg nOnE", () => ({ header: { alg: "nOnE" }, key: "" })],
    ["with alg ES256 and no signature", () => ({ key: "" })],
    [
      "of HS256 with the public key as the secret",
      () => ({ header: { alg: "HS256", kid: "rsa" }, key: forger.publicPem }),
    ],
    ["of HS256 with an empty kid", () => ({ header: { alg: "HS256", kid: "" }, key: forger.publicPem })],
    ["that says RS256 and is signed with ES256", () => ({ header: { alg: "RS256" } })],
    ["whose alg is a list", () => ({ header: { alg: ["ES256"] }, key: "x" })],
    ["without alg", () => ({ header: { alg: undefined }, key: "x" })],
    ["under a trusted kid and a key of its own", own],
    ["under an unknown kid", () => ({ ...own(), header: { kid: "own" } })],
    ["whose kid is a path", () => ({ ...own(), header: { kid: "../../../../dev/null" } })],
    ["whose kid is a query", () => ({ ...own(), header: { kid: "x' OR '1'='1" } })],
    ["whose kid is __proto__", () => ({ ...own(), header: { kid: "__proto__" } })],
    ["whose kid is an object", () => ({ ...own(), header: { kid: { toString: "good" } } })],
    ["whose kid is very long", () => ({ ...own(), header: { kid: "k".repeat(4000) } })],
    ["with jku", () => ({ ...own(), header: { kid: "own", jku: lure.url } })],
    ["with x5u", () => ({ ...own(), header: { kid: "own", x5u: lure.url } })],
    ["with its key inside", () => ({ ...own(), header: { kid: undefined, jwk: forger.ownJwk } })],
    ["with its key inside, under a trusted kid", () => ({ ...own(), header: { jwk: forger.ownJwk } })],
    ["with a certificate inside", () => ({ ...own(), header: { x5c: ["MIIB"] } })],
    ["with crit", () => ({ header: { crit: ["exp"] } })],
    ["with an empty crit", () => ({ header: { crit: [] } })],
    ["with b64 false", () => ({ header: { crit: ["b64"], b64: false } })],
    ["of another kind", () => ({ header: { typ: "logout+jwt" } })],
    ["of another issuer", withClaim("iss", "https://issuer.test/")],
    ["of a list of issuers", withClaim("iss", ["https://issuer.test"])],
    ["for another audience", withClaim("aud", "somebody else")],
    ["for no audience", withClaim("aud", undefined)],
    ["for an empty list of audiences", withClaim("aud", [])],
    ["for an audience in an object", withClaim("aud", { 0: "perdure-test" })],
    ["without exp", withClaim("exp", undefined)],
    ["whose exp is a text", withClaim("exp", String(2 ** 40))],
    ["whose exp is a list", withClaim("exp", [2 ** 40])],
    ["that never expires", withClaim("exp", 1e300)],
    ["that has expired", () => ({ claims: { exp: now() - 10 } })],
    ["of another day", () => ({ claims: { nbf: now() + 3600 } })],
    ["whose nbf is a text", withClaim("nbf", "0")],
    ["without a tenant", withClaim("tenant", undefined)],
    ["of an empty tenant", withClaim("tenant", "")],
    ["of a list of tenants", withClaim("tenant", ["acme"])],
    ["of a tenant that is a number", withClaim("tenant", 5)],
    ["of a tenant that is null", withClaim("tenant", null)],
    ["of a tenant that is an object", withClaim("tenant", { id: "acme" })],
    ["of a tenant with a line break", withClaim("tenant", "acme\n")],
    [
      "of a tenant with half a character",
      () => ({ payload: JSON.stringify({ ...goodClaims(), tenant: "#" }).replace("#", "\\ud800") }),
    ],
    ["of a very long tenant", withClaim("tenant", "t".repeat(300))],
    [
      "that has its tenant from a prototype",
      () => ({
        payload: JSON.stringify({ ...goodClaims(), tenant: undefined }).replace(
          "{",
          '{"__proto__":{"tenant":"acme"},',
        ),
      }),
    ],
    ["without a subject", withClaim("sub", undefined)],
    ["of an empty subject", withClaim("sub", "")],
    ["of a list of subjects", withClaim("sub", ["alice"])],
    ["whose scopes are numbers", withClaim("scope", [1])],
    ["whose payload is a list", () => ({ payload: "[]" })],
    ["whose payload is null", () => ({ payload: "null" })],
    ["whose payload is no JSON", () => ({ payload: "{" })],
    ["over 8 KB", withClaim("padding", "x".repeat(8000))],
  ])("%s", async (_what, forged) => {
    const token = forger.token(forged());
    const response = await bench.send({ headers: { authorization: `Bearer ${token}` } });
    expect({ status: response.status, body: response.body }).toMatchObject({ status: 401 });
    expect(response.headers.get("www-authenticate")).toMatch(
      /^Bearer error="invalid_token",.*resource_metadata="/,
    );
    expect(errorOf(response).code).toBe(-32600);
    for (const part of token.split(".").filter((piece) => piece.length > 8))
      expect(response.body).not.toContain(part);
  });

  test.each<[string, (token: string) => string]>([
    [
      "whose payload was changed",
      (token) => token.replace(/\.[^.]+\./, `.${Buffer.from("{}").toString("base64url")}.`),
    ],
    ["whose signature lacks its end", (token) => token.slice(0, -4)],
    [
      "whose signature has one bit more",
      (token) => `${token.slice(0, -2)}${token.endsWith("A") ? "BB" : "AA"}`,
    ],
    ["with a fourth part", (token) => `${token}.e30`],
    ["of five parts", (token) => `${token}.e30.e30`],
    ["of one part", () => "e30"],
    ["with padding", (token) => `${token}=`],
    ["with a space in it", (token) => token.replace(".", ". ")],
    ["with a comma and another", (token) => `${token},Bearer ${token}`],
    ["that is empty", () => ""],
    ["of dots", () => ".."],
  ])("%s", async (_what, changed) => {
    const authorization = `Bearer ${changed(forger.token())}`;
    const response = await bench.send({ headers: { authorization } });
    expect({ status: response.status, body: response.body }).toMatchObject({ status: 401 });
    expect(response.headers.get("www-authenticate")).toContain("resource_metadata=");
  });

  test("in the URL or the body", async () => {
    const token = forger.token();
    const line = `POST /mcp?access_token=${token} HTTP/1.1`;
    expect((await bench.send({ line, headers: { authorization: undefined } })).status).toBe(401);
    const params = { access_token: token };
    expect((await bench.send({ params, headers: { authorization: undefined } })).status).toBe(401);
  });
});

test("nobody follows what a token's header points to", async () => {
  const headers = [{ jku: lure.url }, { x5u: lure.url }, { jku: lure.url, kid: "good" }, { kid: lure.url }];
  const verdicts = await Promise.all(headers.map((header) => statusOf(forger.token({ ...own(), header }))));
  expect(verdicts).toEqual(headers.map(() => 401));
  expect(lure.visits).toBe(0);
});

test("a thousand tokens under unknown keys cost little: a good one passes meanwhile", async () => {
  const verdicts = new Set<number>();
  const good: number[] = [];
  for (let round = 0; round < 20; round += 1) {
    const forged = Array.from({ length: 50 }, (_, n) =>
      forger.token({ ...own(), header: { kid: `k${round}-${n}` } }),
    );
    const [fine, ...bad] = await Promise.all([forger.token(), ...forged].map(statusOf));
    good.push(fine ?? 0);
    for (const verdict of bad) verdicts.add(verdict);
  }
  expect({ good: new Set(good), verdicts }).toEqual({ good: new Set([200]), verdicts: new Set([401]) });
  expect(await bench.harm()).toEqual([]);
});

test("two replicas say the same of a token at the edge of the tolerance, before and after", async () => {
  const exp = now() + 1;
  const edgeMs = exp * 1000 + TOLERANCE_MS;
  const token = forger.token({ claims: { exp } });
  const clients = [clientOf(token, 0), clientOf(token, 1)];
  const seen: { readonly status: number; readonly sentMs: number; readonly cameMs: number }[] = [];
  const ask = async (client: WireClient): Promise<number> => {
    const sentMs = Date.now();
    const { httpStatus: status } = await client.post("tools/list", {});
    seen.push({ status, sentMs, cameMs: Date.now() });
    return status;
  };
  await until(async () => (await Promise.all(clients.map(ask))).every((status) => status === 401), {
    what: "both replicas to refuse the token",
  });
  const wrong = seen.filter(({ status, sentMs, cameMs }) =>
    status === 200 ? sentMs >= edgeMs : status !== 401 || cameMs < edgeMs,
  );
  expect(wrong).toEqual([]);
  expect(seen.filter(({ status }) => status === 200).length).toBeGreaterThan(2);

  const nbf = now() + 3;
  const early = forger.token({ claims: { nbf } });
  seen.length = 0;
  const waiting = [clientOf(early, 0), clientOf(early, 1)];
  await until(async () => (await Promise.all(waiting.map(ask))).every((status) => status === 200), {
    what: "both replicas to take the token",
  });
  const startMs = nbf * 1000 - TOLERANCE_MS;
  expect(
    seen.filter(({ status, sentMs, cameMs }) => (status === 200 ? cameMs < startMs : sentMs >= startMs)),
  ).toEqual([]);
});

test("a token that expires while its stream is open ends the stream with a result, and opens no other", async () => {
  const token = forger.token({ claims: { exp: now() + 2 } });
  const client = clientOf(token);
  const taskId = await client.create("keep_message", { secret: "mine" });
  await using stream = await client.listen([taskId]);
  await stream.until(taskId, "working");
  expect(await stream.ended).toBe("result");
  expect((await client.post("tasks/get", { taskId })).httpStatus).toBe(401);
  expect(await clientOf(forger.token()).get(taskId)).toMatchObject({ status: "working" });
});

test("keys are rotated by the key set's file: new ones count at once, a broken file changes nothing, old ones end", async () => {
  const old = forger.token();
  expect(await statusOf(old)).toBe(200);
  await forger.publish('{"keys":[{');
  expect(await statusOf(forger.token({ ...own(), header: { kid: "next" } }))).toBe(401);
  expect(await statusOf(forger.token())).toBe(200);

  await forger.publish('{"keys":[]}');
  await forger.trust("next", true);
  const next = { header: { kid: "next" } };
  await until(async () => (await statusOf(forger.token(next))) === 200, {
    what: "a token under the new key to pass",
  });
  await until(async () => (await statusOf(old)) === 401, {
    what: "the old key's tokens to be refused, remembered or not",
  });
  expect(await statusOf(forger.token())).toBe(401);
});
