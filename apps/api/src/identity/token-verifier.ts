import { hash } from "node:crypto";
import { compactVerify } from "jose";
import type { CryptoKey } from "jose";
import { parseBearer } from "./bearer.ts";
import { createChallenges } from "./challenge.ts";
import { EXPIRED, judgeClaims, parseClaimPath } from "./claims.ts";
import { hasScopes } from "./identity.ts";
import type { Identity, Refused, Verdict } from "./identity.ts";
import { createKeyDocument } from "./key-document.ts";
import { createKeySet } from "./key-set.ts";
import { createTokenCache } from "./token-cache.ts";
import { parseTokenHeader } from "./token-header.ts";
import { assertTokenVerifierOptions } from "./token-verifier-options.ts";
import type { TokenVerifierOptions } from "./token-verifier-options.ts";

/** Where identity says what an operator should know: a pino logger fits. Never a token, a claim or a key. */
export interface IdentityLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** What the verifier stands on. */
export interface TokenVerifierDeps {
  /** Milliseconds since the epoch; `exp` and `nbf` are judged by it. */
  readonly now: () => number;
  /** Milliseconds that never go back; cooldowns are measured by it. Default `performance.now`. */
  readonly monotonicNow?: () => number;
  readonly fetch?: typeof fetch;
  readonly log?: IdentityLog;
}

/** Counts since the start, and two gauges (`cached`, `keysAgeMs`). */
export interface TokenVerifierStats {
  readonly cached: number;
  readonly hits: number;
  readonly misses: number;
  readonly refused: number;
  readonly keyFetches: number;
  readonly keyFetchFailures: number;
  /** Milliseconds since the keys were last seen; `undefined` before the first time. */
  readonly keysAgeMs: number | undefined;
}

/** Turns an `Authorization` header into an identity. */
export interface TokenVerifier {
  /**
   * The header as it came; an array (`req.headersDistinct`) of more than one is refused.
   * A remembered token is answered at once, any other by a promise that never rejects.
   */
  verify(authorization: string | readonly string[] | undefined): Verdict | Promise<Verdict>;
  /** The 403 for a caller whose token lacks what an operation needs. */
  insufficientScope(needed: readonly string[]): Refused;
  /** Loads the keys. Resolves after the first try, good or bad: without keys `verify` says 503 and tries again. */
  start(): Promise<void>;
  /** Ends a fetch under way and the refreshing. Idempotent. */
  stop(): Promise<void>;
  stats(): TokenVerifierStats;
  /** Why tokens cannot be checked, each a sentence for `/readyz`; none when all is well. */
  problems(): readonly string[];
}

/**
 * A {@link TokenVerifier} for the tokens of one issuer. Throws an {@link IdentityError} `bad_option` when an option
 * makes no sense. It reads nothing before `start` or the first token.
 *
 *     header ─► bounds ─► hash ─► remembered, key set unchanged, not expired ─► ok, at once
 *                           └──► alg, crit, kid ─► key ─► signature ─► claims ─► remembered ─► ok
 */
export function createTokenVerifier(options: TokenVerifierOptions, deps: TokenVerifierDeps): TokenVerifier {
  assertTokenVerifierOptions(options);
  const { requiredScopes } = options;
  const { now, monotonicNow = () => performance.now(), fetch: fetcher = fetch, log } = deps;
  const algorithms = [...options.algorithms];
  const rules = {
    issuer: options.issuer,
    audience: [...options.audience],
    clockToleranceMs: options.clockToleranceMs,
    tenantPath: parseClaimPath(options.tenantClaim, "tenantClaim"),
    principalPath: parseClaimPath(options.principalClaim, "principalClaim"),
  };
  const document = createKeyDocument(options.jwks, fetcher);
  const isUrl = document.kind === "url";
  const keys = createKeySet({
    document,
    monotonicNow,
    refreshMs: options.keysRefreshMs ?? (isUrl ? 600_000 : 5000),
    cooldownMs: options.keysCooldownMs ?? (isUrl ? 30_000 : 1000),
    timeoutMs: options.keysTimeoutMs ?? 5000,
    log,
  });
  const challenges = createChallenges({ metadataUrl: options.metadataUrl, requiredScopes });
  const cache = createTokenCache(options.cacheSize);
  const underWay = new Map<string, Promise<Verdict>>();
  let hits = 0;
  let misses = 0;
  let refusals = 0;

  const admit = (identity: Identity): Verdict =>
    hasScopes(identity, requiredScopes) ? { verdict: "ok", identity } : challenges.insufficientScope([]);
  const counted = <V extends Verdict>(verdict: V): V => {
    if (verdict.verdict === "refused") refusals += 1;
    return verdict;
  };
  const check = async (token: string, digest: string): Promise<Verdict> => {
    const header = parseTokenHeader(token, algorithms);
    if (header.verdict === "refused") return challenges.invalidToken(header.description);
    const search = await keys.find(header);
    if (search.verdict === "unavailable") return challenges.unavailable(search.retryAfterMs);
    if (search.verdict === "unknown")
      return challenges.invalidToken("The token was signed with an unknown key");
    const payload = await verifySignature(token, search.keys, algorithms);
    if (!payload) return challenges.invalidToken("The token's signature is not valid");
    const claims = judgeClaims(payload, rules, now());
    if (claims.verdict === "refused") return challenges.invalidToken(claims.description);
    cache.set(digest, { identity: claims.identity, generation: search.generation });
    return admit(claims.identity);
  };

  return {
    verify(authorization) {
      const bearer = parseBearer(authorization);
      if (bearer.verdict === "none") return counted(challenges.noToken());
      if (bearer.verdict === "repeated") return counted(challenges.repeated());
      if (bearer.verdict === "malformed") return counted(challenges.invalidToken(bearer.description));
      const digest = hash("sha256", bearer.token, "base64url");
      const remembered = cache.get(digest);
      if (remembered?.generation === keys.generation()) {
        hits += 1;
        keys.refreshIfOld();
        if (now() < remembered.identity.expiresAtMs) return counted(admit(remembered.identity));
        cache.delete(digest);
        return counted(challenges.invalidToken(EXPIRED));
      }
      const shared = underWay.get(digest);
      if (shared) return shared.then(counted);
      misses += 1;
      const checking = check(bearer.token, digest).finally(() => underWay.delete(digest));
      underWay.set(digest, checking);
      return checking.then(counted);
    },
    insufficientScope: (needed) => challenges.insufficientScope(needed),
    start: () => keys.start(),
    stop: () => keys.stop(),
    stats() {
      const loads = keys.loads();
      return {
        cached: cache.count(),
        hits,
        misses,
        refused: refusals,
        keyFetches: loads.tried,
        keyFetchFailures: loads.failed,
        keysAgeMs: loads.ageMs,
      };
    },
    problems: () => keys.problems(),
  };
}

async function verifySignature(
  token: string,
  keys: readonly CryptoKey[],
  algorithms: string[],
): Promise<Uint8Array | undefined> {
  for (const key of keys) {
    try {
      return (await compactVerify(token, key, { algorithms })).payload;
    } catch {
      // Not this key, or a key too weak for its algorithm.
    }
  }
  return undefined;
}
