/** Who a request comes from. Everything is taken from the verified token, never from a body. */
export interface Identity {
  /** 1 to 256 characters without control characters. */
  readonly tenant: string;
  /** 1 to 256 characters without control characters. */
  readonly principal: string;
  /** The scopes that the token grants, as listed. Ask {@link hasScopes}, not this. */
  readonly scopes: readonly string[];
  /** Set in open mode alone: no scope is ever missing. No token can set it. */
  readonly everyScope?: true;
  /**
   * The first instant at which the token is refused: its `exp` plus the clock tolerance, in milliseconds since the
   * epoch. A stream that began with this token ends here. `undefined` in open mode.
   */
  readonly expiresAtMs: number | undefined;
  /** The OAuth client, by the token's `client_id` or `azp`. For logs; it grants nothing. */
  readonly clientId?: string;
}

/** The `error` of a challenge (RFC 6750 §3.1). */
export type ChallengeError = "invalid_request" | "invalid_token" | "insufficient_scope";

/** A request that goes no further. */
export interface Refused {
  readonly verdict: "refused";
  /** 400 more than one Authorization header · 401 no or no good token · 403 too few scopes · 503 no keys to check it with. */
  readonly status: 400 | 401 | 403 | 503;
  /** Absent when no token was sent (RFC 6750 §3.1), and with 503. */
  readonly error?: ChallengeError;
  /** One sentence for the client. It repeats nothing of the token and tells nothing of what was expected. */
  readonly description: string;
  /** To be sent as they are: `WWW-Authenticate` with 400, 401 and 403, `Retry-After` (seconds) with 503. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What is said of a request's credentials. */
export type Verdict = { readonly verdict: "ok"; readonly identity: Identity } | Refused;

/** True when the identity has every one of the needed scopes. */
export function hasScopes(identity: Identity, needed: readonly string[]): boolean {
  return identity.everyScope === true || needed.every((scope) => identity.scopes.includes(scope));
}
