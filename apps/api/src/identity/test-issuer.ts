import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { CryptoKey, JWK } from "jose";
import type { Verdict } from "./identity.ts";
import type { IdentityLog, TokenVerifier, TokenVerifierDeps } from "./token-verifier.ts";
import type { TokenVerifierOptions } from "./token-verifier-options.ts";

/** A key pair of a test's issuer. */
export interface TestKey {
  readonly alg: string;
  readonly kid: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
  /** A token with these claims over the good ones, and these header fields over `alg` and `kid`. */
  sign(claims?: Record<string, unknown>, header?: Record<string, unknown>): Promise<string>;
}

/** When a test's clock starts: whole seconds, so that limits are easy to name. */
export const START_MS = 1_800_000_000_000;
/** The claims of a token that is good for an hour. */
export const GOOD_CLAIMS = {
  iss: "https://issuer.example",
  aud: "https://tasks.example/mcp",
  sub: "alice",
  tenant: "acme",
  exp: START_MS / 1000 + 3600,
};

/** A fresh key pair. */
export async function createTestKey(alg = "ES256", kid = "key-1"): Promise<TestKey> {
  const pair = await generateKeyPair(alg, { extractable: true });
  return {
    alg,
    kid,
    privateKey: pair.privateKey,
    publicJwk: { ...(await exportJWK(pair.publicKey)), kid, alg, use: "sig" },
    sign: (claims = {}, header = {}) =>
      new SignJWT({ ...GOOD_CLAIMS, ...claims })
        .setProtectedHeader({ alg, kid, ...header })
        .sign(pair.privateKey),
  };
}

/** Time as a test wants it, for both clocks of a verifier; and its log, as lines. */
export interface TestClock extends Required<Pick<TokenVerifierDeps, "now" | "monotonicNow" | "log">> {
  readonly lines: string[];
  set(ms: number): void;
  advance(ms: number): void;
}

/** A clock at {@link START_MS} that moves only when told. */
export function createTestClock(): TestClock {
  let nowMs = START_MS;
  const lines: string[] = [];
  const note = (fields: object, message: string): void => {
    lines.push(`${message} ${JSON.stringify(fields)}`);
  };
  const log: IdentityLog = { info: note, warn: note };
  return {
    now: () => nowMs,
    monotonicNow: () => nowMs,
    log,
    lines,
    set: (ms) => {
      nowMs = ms;
    },
    advance: (ms) => {
      nowMs += ms;
    },
  };
}

/** An issuer that serves its keys over real HTTP, and can fail in every way. */
export interface TestIssuer extends AsyncDisposable {
  readonly jwksUrl: string;
  /** The paths that were asked for, in order. */
  readonly asked: readonly string[];
  /** Serves these public keys from now on. */
  publish(...keys: readonly JWK[]): void;
  /** Answers like this from now on, until the next `publish`. */
  answer(handler: (req: IncomingMessage, res: ServerResponse) => void): void;
}

/** A {@link TestIssuer} on a free port of loopback. */
export async function startTestIssuer(...keys: readonly JWK[]): Promise<TestIssuer> {
  const asked: string[] = [];
  let handler = serve(keys);
  const server = createServer((req, res) => {
    asked.push(req.url ?? "");
    handler(req, res);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    jwksUrl: `http://127.0.0.1:${portOf(server)}/jwks.json`,
    asked,
    publish: (...published) => {
      handler = serve(published);
    },
    answer: (next) => {
      handler = next;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function serve(keys: readonly JWK[]): (req: IncomingMessage, res: ServerResponse) => void {
  return (_req, res) => void res.end(JSON.stringify({ keys }));
}

/** The port that a listening server was given. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return address.port;
}

/** What is said of each of these tokens when all come at once. */
export function verifyAll(verifier: TokenVerifier, tokens: readonly string[]): Promise<Verdict[]> {
  return Promise.all(tokens.map(async (token) => verifier.verify(`Bearer ${token}`)));
}

/** Options under which {@link GOOD_CLAIMS} pass. */
export function testOptions(jwks: string, over: Partial<TokenVerifierOptions> = {}): TokenVerifierOptions {
  return {
    issuer: GOOD_CLAIMS.iss,
    audience: [GOOD_CLAIMS.aud],
    jwks,
    algorithms: ["ES256", "EdDSA", "RS256", "PS256"],
    clockToleranceMs: 5000,
    tenantClaim: "tenant",
    principalClaim: "sub",
    requiredScopes: [],
    cacheSize: 100,
    metadataUrl: "https://tasks.example/.well-known/oauth-protected-resource/mcp",
    ...over,
  };
}
