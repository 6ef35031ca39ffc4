import { decodeProtectedHeader } from "jose";

/** An access token (RFC 9068 §2.1) or one that does not say; not a logout token or any other kind (RFC 8725 §3.11). */
const TYPES = new Set(["jwt", "application/jwt", "at+jwt", "application/at+jwt"]);

/** What a token says of how it was signed. */
export type TokenHeader =
  | { readonly verdict: "ok"; readonly alg: string; readonly kid?: string }
  | { readonly verdict: "refused"; readonly description: string };

/**
 * Reads the unverified header of a compact JWS. Anything but an allowed `alg` is refused before a key is looked for.
 * `jku`, `x5u`, `jwk` and `x5c` are not even read: keys come from the issuer alone. `crit` is refused whatever it lists.
 */
export function parseTokenHeader(token: string, algorithms: readonly string[]): TokenHeader {
  let header: Readonly<Record<string, unknown>>;
  try {
    header = { ...decodeProtectedHeader(token) };
  } catch {
    return { verdict: "refused", description: "The token's header is malformed" };
  }
  const { alg, kid, typ } = header;
  if (typeof alg !== "string" || !algorithms.includes(alg)) {
    return { verdict: "refused", description: "The token's algorithm is not allowed" };
  }
  if (Object.hasOwn(header, "crit")) {
    return { verdict: "refused", description: "The token needs an extension that is not supported" };
  }
  if (typ !== undefined && !(typeof typ === "string" && TYPES.has(typ.toLowerCase()))) {
    return { verdict: "refused", description: "The token is not an access token" };
  }
  if (kid === undefined) return { verdict: "ok", alg };
  if (typeof kid !== "string" || kid.length > 256) {
    return { verdict: "refused", description: "The token's key id is malformed" };
  }
  return { verdict: "ok", alg, kid };
}
