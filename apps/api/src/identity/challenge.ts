import type { ChallengeError, Refused } from "./identity.ts";

/** What every challenge of this endpoint says. */
export interface ChallengeOptions {
  /** Where a client finds the RFC 9728 document. */
  readonly metadataUrl: string;
  /** What any call to the endpoint needs; part of every challenge, so that one new token is enough. */
  readonly requiredScopes: readonly string[];
}

/** Makes the refusals of one endpoint, with their `WWW-Authenticate` (RFC 6750 §3, RFC 9728 §5.1). */
export interface Challenges {
  /** 401 without an error code: no token was sent, or another scheme was used. */
  noToken(): Refused;
  /** 400 `invalid_request`: credentials were sent more than once. */
  repeated(): Refused;
  /** 401 `invalid_token`. */
  invalidToken(description: string): Refused;
  /** 403 `insufficient_scope`; `scope` names all that this operation needs, at once. */
  insufficientScope(needed: readonly string[]): Refused;
  /** 503 with `Retry-After` in whole seconds, at least 1: the token may be good, but cannot be checked now. */
  unavailable(retryAfterMs: number): Refused;
}

/** {@link Challenges} for one endpoint. */
export function createChallenges({ metadataUrl, requiredScopes }: ChallengeOptions): Challenges {
  const challenge = (scopes: readonly string[], error?: ChallengeError, description?: string): string => {
    const fields: string[] = [];
    if (error !== undefined) fields.push(`error=${quoted(error)}`);
    if (description !== undefined) fields.push(`error_description=${quoted(plain(description))}`);
    if (scopes.length > 0) fields.push(`scope=${quoted(scopes.join(" "))}`);
    fields.push(`resource_metadata=${quoted(metadataUrl)}`);
    return `Bearer ${fields.join(", ")}`;
  };
  const refuse = (status: 400 | 401 | 403, error: ChallengeError, description: string): Refused => ({
    verdict: "refused",
    status,
    error,
    description,
    headers: { "WWW-Authenticate": challenge(requiredScopes, error, description) },
  });

  return {
    noToken: () => ({
      verdict: "refused",
      status: 401,
      description: "A bearer token is needed",
      headers: { "WWW-Authenticate": challenge(requiredScopes) },
    }),
    repeated: () => refuse(400, "invalid_request", "Credentials were sent more than once"),
    invalidToken: (description) => refuse(401, "invalid_token", description),
    insufficientScope(needed) {
      const scopes = [...new Set([...requiredScopes, ...needed])];
      const description = "The token lacks a scope that this needs";
      return {
        verdict: "refused",
        status: 403,
        error: "insufficient_scope",
        description,
        headers: { "WWW-Authenticate": challenge(scopes, "insufficient_scope", description) },
      };
    },
    unavailable: (retryAfterMs) => ({
      verdict: "refused",
      status: 503,
      description: "The token cannot be checked right now: the issuer's keys are not available",
      headers: { "Retry-After": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) },
    }),
  };
}

/** A quoted-string (RFC 9110 §5.6.4) that is safe in a header whatever the text is. */
function quoted(text: string): string {
  return `"${text.replaceAll(/[^\x20-\x7e]/g, "").replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/** RFC 6750 §3 allows neither quotes nor backslashes in a description, not even escaped ones. */
function plain(text: string): string {
  return text.replaceAll(/["\\]/g, "'");
}
