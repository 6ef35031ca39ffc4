import type { Refused, Verdict } from "./identity.ts";

/** How tokens are judged. Every replica must have the same. */
export interface TokenVerifierOptions {
  /** The one issuer, compared with `iss` letter by letter. */
  readonly issuer: string;
  /** At least one; a token must name one of them in `aud` (RFC 8707 §2). */
  readonly audience: readonly string[];
  /** An https URL (http on loopback alone), or the path of a JWKS file. */
  readonly jwks: string;
  /** At least one, asymmetric only; `none` and HS* are refused with an {@link IdentityError}. */
  readonly algorithms: readonly string[];
  /** How far the issuer's clock may be off, for `exp` and `nbf`. */
  readonly clockToleranceMs: number;
  /** The name of a top-level claim, dots and all; or, when it begins with `/`, a JSON Pointer to a nested one. */
  readonly tenantClaim: string;
  /** Like `tenantClaim`. */
  readonly principalClaim: string;
  /** What any call needs. */
  readonly requiredScopes: readonly string[];
  /** How many verified tokens are remembered; 0 for none. */
  readonly cacheSize: number;
  /** From `protectedResourceMetadataUrl`. */
  readonly metadataUrl: string;
  /** When a key set is old enough to be fetched again in the background. Default 10 min for a URL, 5 s for a file. */
  readonly keysRefreshMs?: number;
  /** At most one look at the issuer's keys in this time, whatever tokens come. Default 30 s for a URL, 1 s for a file. */
  readonly keysCooldownMs?: number;
  /** How long one fetch of the keys may take. Default 5 s. */
  readonly keysTimeoutMs?: number;
}

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
