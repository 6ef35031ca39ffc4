import { IdentityError } from "./identity-error.ts";

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

/** What may be allowed: signatures that a verifier cannot make itself. */
const ASYMMETRIC = new Set("RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" "));
/** Throws an {@link IdentityError} `bad_option` that names the first option that makes no sense. */
export function assertTokenVerifierOptions(options: TokenVerifierOptions): void {
  const check = (holds: boolean, option: keyof TokenVerifierOptions, rule: string): void => {
    if (!holds) throw new IdentityError("bad_option", option, `${option} ${rule}`);
  };
  check(isFilled(options.issuer), "issuer", "must be the issuer's URL");
  check(
    options.audience.length > 0 && options.audience.every(isFilled),
    "audience",
    "must name at least one audience",
  );
  check(
    options.algorithms.length > 0 && options.algorithms.every((name) => ASYMMETRIC.has(name)),
    "algorithms",
    `must be some of ${[...ASYMMETRIC].join(", ")}: with a shared secret, whoever checks a token could make one`,
  );
  check(
    Number.isFinite(options.clockToleranceMs) && options.clockToleranceMs >= 0,
    "clockToleranceMs",
    "must be 0 or more",
  );
  check(Number.isInteger(options.cacheSize) && options.cacheSize >= 0, "cacheSize", "must be 0 or more");
  check(
    options.requiredScopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope)),
    "requiredScopes",
    "must be scopes as RFC 6749 §3.3 allows them, like tasks:write",
  );
}

function isFilled(text: string): boolean {
  return text !== "";
}
