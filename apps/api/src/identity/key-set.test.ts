import type { ServerResponse } from "node:http";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { exportJWK } from "jose";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createTokenVerifier } from "./token-verifier.ts";
import type { TokenVerifierOptions } from "./token-verifier-options.ts";
import type { TokenVerifier } from "./token-verifier.ts";
import { createTestClock, createTestKey, startTestIssuer, testOptions, verifyAll } from "./test-issuer.ts";
import type { TestIssuer, TestKey } from "./test-issuer.ts";

const UNKNOWN_KEY = { status: 401, description: "The token was signed with an unknown key" };
const OK = { verdict: "ok" };
const HOUR_MS = 3_600_000;

let old: TestKey;
let fresh: TestKey;
beforeEach(async () => {
  old = await createTestKey("ES256", "old");
  fresh = await createTestKey("ES256", "fresh");
});
const bearer = async (key: TestKey, claims: Record<string, unknown> = {}) =>
  `Bearer ${await key.sign(claims)}`;

describe("keys by URL", () => {
  let issuer: TestIssuer;
  beforeEach(async () => {
    issuer = await startTestIssuer(old.publicJwk);
  });
  afterEach(() => issuer[Symbol.asyncDispose]());
  const make = (over: Partial<TokenVerifierOptions> = {}) => {
    const clock = createTestClock();
    return { clock, verifier: createTokenVerifier(testOptions(issuer.jwksUrl, over), clock) };
  };
  const fail = () => issuer.answer((_req, res) => void res.writeHead(500).end("down"));

  test("a new key is picked up after the cooldown at most", async () => {
    const { clock, verifier } = make();
    expect(await verifier.verify(await bearer(old))).toMatchObject(OK);
    issuer.publish(old.publicJwk, fresh.publicJwk);
    clock.advance(29_999);
    expect(await verifier.verify(await bearer(fresh))).toMatchObject(UNKNOWN_KEY);
    expect(issuer.asked).toHaveLength(1);
    clock.advance(1);
    expect(await verifier.verify(await bearer(fresh))).toMatchObject(OK);
    expect(issuer.asked).toHaveLength(2);
  });

  test("a key that the issuer has withdrawn opens nothing any more, not even for a remembered token", async () => {
    const { clock, verifier } = make();
    const header = await bearer(old);
    expect(await verifier.verify(header)).toMatchObject(OK);
    issuer.publish(fresh.publicJwk);
    clock.advance(600_000);
    expect(verifier.verify(header)).toMatchObject(OK); // at once, while the keys are fetched in the background
    await vi.waitUntil(() => verifier.stats().keysAgeMs === 0);
    expect(await verifier.verify(header)).toMatchObject(UNKNOWN_KEY);
    expect(await verifier.verify(await bearer(fresh))).toMatchObject(OK);
  });

  test("an issuer that is down for an hour is not noticed by those whose keys were seen, and it recovers", async () => {
    const { clock, verifier } = make();
    const header = await bearer(old);
    const later = { exp: clock.now() / 1000 + 10_000 };
    expect(await verifier.verify(header)).toMatchObject(OK);
    fail();
    for (let minutes = 0; minutes < 60; minutes += 5) {
      clock.advance(HOUR_MS / 12);
      expect(await verifier.verify(await bearer(old, { ...later, jti: String(minutes) }))).toMatchObject(OK);
      expect(await verifier.verify(await bearer(fresh, later))).toMatchObject(UNKNOWN_KEY);
      expect(verifier.problems()).toEqual([]);
    }
    expect(verifier.stats().keyFetchFailures).toBeGreaterThan(10);
    expect(clock.lines.filter((line) => line.includes("jwks_unavailable"))).toHaveLength(1);
    issuer.publish(fresh.publicJwk);
    clock.advance(30_000);
    expect(await verifier.verify(await bearer(fresh, later))).toMatchObject(OK);
    expect(await verifier.verify(await bearer(old, later))).toMatchObject(UNKNOWN_KEY);
  });

  test("without any keys yet the answer is 503 with Retry-After, not 401, and the next try comes soon", async () => {
    fail();
    const { clock, verifier } = make();
    await verifier.start();
    const verdict = await verifier.verify(await bearer(old));
    expect(verdict).toMatchObject({ status: 503, headers: { "Retry-After": "2" } });
    expect(verdict).not.toHaveProperty("error");
    expect(issuer.asked).toHaveLength(1);
    expect(verifier.problems()).toEqual([
      `The issuer's keys are not loaded from ${issuer.jwksUrl}: it answered with status 500`,
    ]);
    issuer.publish(old.publicJwk);
    clock.advance(2000);
    expect(await verifier.verify(await bearer(old))).toMatchObject(OK);
    expect(verifier.problems()).toEqual([]);
    await verifier.stop();
  });

  test("a storm of unknown key ids makes one fetch per cooldown", async () => {
    const { clock, verifier } = make();
    await verifier.verify(await bearer(old));
    clock.advance(30_000);
    const storm = await Promise.all(
      Array.from({ length: 100 }, (_, n) => old.sign({}, { kid: `unknown-${n}` })),
    );
    for (let wave = 0; wave < 3; wave += 1) {
      const verdicts = await verifyAll(verifier, storm);
      for (const verdict of verdicts) expect(verdict).toMatchObject(UNKNOWN_KEY);
      clock.advance(9000);
    }
    expect(issuer.asked).toHaveLength(2);
    clock.advance(3000);
    await verifyAll(verifier, storm);
    expect(issuer.asked).toHaveLength(3);
  });

  test("a storm of first tokens while the issuer is down makes one fetch", async () => {
    fail();
    const { verifier } = make();
    const tokens = await Promise.all(Array.from({ length: 50 }, (_, n) => old.sign({ jti: String(n) })));
    const verdicts = await verifyAll(verifier, tokens);
    expect(
      new Set(verdicts.map((verdict) => (verdict.verdict === "refused" ? verdict.status : 200))),
    ).toEqual(new Set([503]));
    expect(issuer.asked).toHaveLength(1);
  });

  test("an old set is fetched again in the background; the same set keeps tokens remembered", async () => {
    const { clock, verifier } = make();
    const header = await bearer(old);
    await verifier.verify(header);
    clock.advance(599_999);
    expect(verifier.verify(header)).toMatchObject(OK);
    expect(verifier.stats().keyFetches).toBe(1);
    clock.advance(1);
    expect(verifier.verify(header)).toMatchObject(OK);
    await vi.waitUntil(() => verifier.stats().keysAgeMs === 0);
    expect(verifier.verify(header)).toMatchObject(OK);
    expect(verifier.stats()).toMatchObject({ keyFetches: 2, misses: 1, cached: 1 });
  });

  test("an old set is fetched again when nothing but new tokens come", async () => {
    const { clock, verifier } = make({ cacheSize: 0 });
    const header = await bearer(old);
    await verifier.verify(header);
    clock.advance(600_000);
    expect(await verifier.verify(header)).toMatchObject(OK);
    await vi.waitUntil(() => verifier.stats().keysAgeMs === 0);
    expect(verifier.stats().keyFetches).toBe(2);
  });

  test("a fetch that takes longer than the cooldown is not joined by a second one", async () => {
    const held = Promise.withResolvers<void>();
    issuer.answer((_req, res) => {
      void held.promise.then(() => res.end(JSON.stringify({ keys: [old.publicJwk] })));
    });
    const { clock, verifier } = make();
    const first = verifier.verify(await bearer(old));
    await vi.waitUntil(() => issuer.asked.length === 1);
    clock.advance(60_000);
    const second = verifier.verify(await bearer(old, { jti: "2" }));
    expect(verifier.stats().keyFetches).toBe(1);
    held.resolve();
    expect([await first, await second]).toMatchObject([OK, OK]);
    expect(issuer.asked).toHaveLength(1);
  });

  test.each([
    ["a body that never ends", (res) => void res.write("{"), /timeout/],
    [
      "a redirect to another origin",
      (res) => void res.writeHead(302, { Location: "http://127.0.0.1:9/keys" }).end(),
      /another origin/,
    ],
    [
      "a redirect without end",
      (res) => void res.writeHead(302, { Location: "/again" }).end(),
      /redirects more than 3 times/,
    ],
    ["more than 512 KB", (res) => void res.end(`{"keys":[],"pad":"${"x".repeat(600_000)}"}`), /larger than/],
    ["no JSON", (res) => void res.end("<html>"), /not JSON/],
    ["JSON of another kind", (res) => void res.end('{"issuer":"x"}'), /not a JSON Web Key Set/],
    ["a list with more than keys", (res) => void res.end('{"keys":[null]}'), /not a JSON Web Key Set/],
    [
      "too many keys",
      (res) => void res.end(JSON.stringify({ keys: Array.from({ length: 101 }, () => ({ kty: "EC" })) })),
      /more than 100 keys/,
    ],
    ["a dropped connection", (res) => void res.destroy(), /fetch failed: UND_ERR_SOCKET|ECONNRESET/],
  ] as [string, (res: ServerResponse) => void, RegExp][])(
    "%s is a failed fetch: a good set stays, and without one it is 503",
    async (_title, respond, reason) => {
      const { clock, verifier } = make({ keysTimeoutMs: 200 });
      await verifier.start();
      issuer.answer((_req, res) => respond(res));
      clock.advance(30_000);
      expect(await verifier.verify(await bearer(fresh))).toMatchObject(UNKNOWN_KEY);
      expect(await verifier.verify(await bearer(old))).toMatchObject(OK);
      await verifier.stop();
      const second = make({ keysTimeoutMs: 200 });
      expect(await second.verifier.verify(await bearer(old))).toMatchObject({ status: 503 });
      expect(second.verifier.problems().join()).toMatch(reason);
    },
  );

  test("a redirect within the origin is followed", async () => {
    issuer.answer((req, res) => {
      if (req.url === "/jwks.json") res.writeHead(307, { Location: "/v2/keys" }).end();
      else res.end(JSON.stringify({ keys: [old.publicJwk] }));
    });
    expect(await make().verifier.verify(await bearer(old))).toMatchObject(OK);
    expect(issuer.asked).toEqual(["/jwks.json", "/v2/keys"]);
  });

  test("a secret, a private and a broken key in the set vouch for nothing; the rest of it serves", async () => {
    const priv = { ...(await exportJWK(fresh.privateKey)), kid: "fresh", alg: "ES256" };
    issuer.publish(
      { kty: "oct", k: "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0", kid: "mac" },
      priv,
      { kty: "EC", crv: "P-256", x: "AA", y: "AA", kid: "broken" },
      { kty: "OKP", kid: "__proto__" },
      old.publicJwk,
    );
    const { verifier } = make();
    expect(await verifier.verify(await bearer(old))).toMatchObject(OK);
    expect(await verifier.verify(await bearer(fresh))).toMatchObject(UNKNOWN_KEY);
    for (const kid of ["broken", "__proto__", "mac"]) {
      expect(await verifier.verify(`Bearer ${await old.sign({}, { kid })}`)).toMatchObject(UNKNOWN_KEY);
    }
  });

  test("stop ends a fetch that hangs; it can be said twice, and the verifier can be started again", async () => {
    issuer.answer(() => {});
    const { clock, verifier } = make();
    const starting = verifier.start();
    await vi.waitUntil(() => issuer.asked.length === 1);
    await Promise.all([verifier.stop(), verifier.stop()]);
    await starting;
    await verifier.stop();
    expect(await verifier.verify(await bearer(old))).toMatchObject({ status: 503 });
    issuer.publish(old.publicJwk);
    clock.advance(2000);
    await verifier.start();
    expect(await verifier.verify(await bearer(old))).toMatchObject(OK);
    await verifier.stop();
  });

  test("an unsuccessful start looks again by itself", async () => {
    fail();
    const { clock, verifier } = make({ keysCooldownMs: 20 });
    await verifier.start();
    issuer.publish(old.publicJwk);
    clock.advance(HOUR_MS);
    await vi.waitUntil(() => verifier.problems().length === 0);
    expect(verifier.stats()).toMatchObject({ misses: 0, keyFetchFailures: 1 });
    await verifier.stop();
  });
});

describe("keys by file", () => {
  let dir: string;
  let path: string;
  let verifier: TokenVerifier;
  let clock: ReturnType<typeof createTestClock>;
  const write = async (...keys: TestKey[]) => {
    await writeFile(`${path}.new`, JSON.stringify({ keys: keys.map((key) => key.publicJwk) }));
    await rename(`${path}.new`, path);
  };
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), "perdure-jwks-"));
    path = join(dir, "jwks.json");
    clock = createTestClock();
    verifier = createTokenVerifier(testOptions(path), clock);
  });
  afterEach(async () => {
    await verifier.stop();
    await rm(dir, { recursive: true });
  });

  test("a changed file is read again on an unknown key, once per second", async () => {
    await write(old);
    expect(await verifier.verify(await bearer(old))).toMatchObject(OK);
    await write(old, fresh);
    expect(await verifier.verify(await bearer(fresh))).toMatchObject(UNKNOWN_KEY);
    clock.advance(1000);
    expect(await verifier.verify(await bearer(fresh))).toMatchObject(OK);
  });

  test("a key taken out of the file opens nothing any more after a few seconds", async () => {
    await write(old, fresh);
    const header = await bearer(old);
    expect(await verifier.verify(header)).toMatchObject(OK);
    await write(fresh);
    clock.advance(5000);
    expect(verifier.verify(header)).toMatchObject(OK);
    await vi.waitUntil(() => verifier.stats().keysAgeMs === 0);
    expect(await verifier.verify(header)).toMatchObject(UNKNOWN_KEY);
  });

  test("a file that is half written, gone, or a folder changes nothing once there were keys", async () => {
    await write(old);
    expect(await verifier.verify(await bearer(old))).toMatchObject(OK);
    await writeFile(path, '{"keys":[');
    clock.advance(1000);
    expect(await verifier.verify(await bearer(fresh))).toMatchObject(UNKNOWN_KEY);
    await rm(path);
    clock.advance(1000);
    expect(await verifier.verify(await bearer(fresh))).toMatchObject(UNKNOWN_KEY);
    expect(await verifier.verify(await bearer(old))).toMatchObject(OK);
    const folder = createTokenVerifier(testOptions(`file://${dir}`), clock);
    expect(await folder.verify(await bearer(old))).toMatchObject({ status: 503 });
  });
});
