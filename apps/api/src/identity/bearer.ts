/** The longest token that is looked at, in characters. Longer ones are refused before any parsing or hashing. */
export const MAX_TOKEN_LENGTH = 8192;

/** What an `Authorization` header holds. `none`: nothing, or another scheme, so the client may not know what we want. */
export type Bearer =
  | { readonly verdict: "token"; readonly token: string }
  | { readonly verdict: "none" }
  | { readonly verdict: "repeated" }
  | { readonly verdict: "malformed"; readonly description: string };

const SCHEME = /^bearer(?: +|$)/i;
const COMPACT_JWS = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;

/** Takes the token out of the header (RFC 6750 §2.1). Only the compact form of a signed token passes. */
export function parseBearer(authorization: string | readonly string[] | undefined): Bearer {
  if (authorization !== undefined && typeof authorization !== "string") {
    return authorization.length > 1 ? { verdict: "repeated" } : parseBearer(authorization[0]);
  }
  const scheme = authorization === undefined ? undefined : SCHEME.exec(authorization.slice(0, 64))?.[0];
  if (authorization === undefined || scheme === undefined) return { verdict: "none" };
  const token = authorization.slice(scheme.length);
  if (token.length > MAX_TOKEN_LENGTH) {
    return { verdict: "malformed", description: "The token is too long: at most 8 KB" };
  }
  if (!COMPACT_JWS.test(token)) return { verdict: "malformed", description: "The token is malformed" };
  return { verdict: "token", token };
}
