import { createChallenges } from "./challenge.ts";
import type { Identity } from "./identity.ts";
import type { TokenVerifier } from "./token-verifier.ts";

/**
 * The verifier of open mode: every request is tenant `local`, principal `local`, with every scope, whatever it carries.
 * `scopes` is what tools will read as the caller's scopes. Call `assertLoopback` on the host before it serves.
 */
export function createOpenIdentity(scopes: readonly string[] = []): TokenVerifier {
  const identity: Identity = {
    tenant: "local",
    principal: "local",
    scopes: [...scopes],
    everyScope: true,
    expiresAtMs: undefined,
  };
  const verdict = { verdict: "ok", identity } as const;
  const challenges = createChallenges({ metadataUrl: "", requiredScopes: [] });
  return {
    verify: () => verdict,
    insufficientScope: (needed) => challenges.insufficientScope(needed),
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    stats: () => ({
      cached: 0,
      hits: 0,
      misses: 0,
      refused: 0,
      keyFetches: 0,
      keyFetchFailures: 0,
      keysAgeMs: undefined,
    }),
    problems: () => [],
  };
}
