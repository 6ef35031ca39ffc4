import type { Identity } from "./identity.ts";
import { IdentityError } from "./identity-error.ts";
import { isJsonObject } from "./json-object.ts";

/** What the claims of a token must satisfy. */
export interface ClaimRules {
  readonly issuer: string;
  readonly audience: readonly string[];
  readonly clockToleranceMs: number;
  /** From {@link parseClaimPath}. */
  readonly tenantPath: readonly string[];
  readonly principalPath: readonly string[];
}

/** What the claims say. A description repeats no value, neither found nor expected. */
export type ClaimsVerdict =
  | { readonly verdict: "ok"; readonly identity: Identity & { readonly expiresAtMs: number } }
  | { readonly verdict: "refused"; readonly description: string };

/** Said of a token after its time, whether it was remembered or not. */
export const EXPIRED = "The token has expired";

/**
 * Judges the verified payload of a token at an instant (milliseconds since the epoch). Pure, so that every replica
 * with the same clock and rules says the same:
 *
 *     accepted ⇔ nbf − tolerance ≤ now < exp + tolerance
 */
export function judgeClaims(payload: Uint8Array, rules: ClaimRules, nowMs: number): ClaimsVerdict {
  const claims = parsePayload(payload);
  if (claims === undefined) return refused("The token's payload is not a JSON object");
  if (own(claims, "iss") !== rules.issuer) return refused("The token is from another issuer");
  if (!namesOneOf(own(claims, "aud"), rules.audience)) return refused("The token is for another audience");

  const expMs = instant(own(claims, "exp"));
  if (expMs === undefined) return refused("The token has no valid exp");
  const expiresAtMs = expMs + rules.clockToleranceMs;
  if (nowMs >= expiresAtMs) return refused(EXPIRED);
  if (Object.hasOwn(claims, "nbf")) {
    const nbfMs = instant(own(claims, "nbf"));
    if (nbfMs === undefined) return refused("The token has no valid nbf");
    if (nowMs < nbfMs - rules.clockToleranceMs) return refused("The token is not valid yet");
  }

  const tenant = at(claims, rules.tenantPath);
  if (!isName(tenant)) return refused(`The token's tenant claim ${NAME_RULE}`);
  const principal = at(claims, rules.principalPath);
  if (!isName(principal)) return refused(`The token's principal claim ${NAME_RULE}`);
  const scopes = scopesOf(claims);
  if (scopes === undefined) return refused("The token's scopes are neither a text nor a list of texts");
  const clientId = own(claims, "client_id") ?? own(claims, "azp");
  return {
    verdict: "ok",
    identity: Object.freeze({
      tenant,
      principal,
      scopes: Object.freeze(scopes),
      expiresAtMs,
      ...(isName(clientId) && { clientId }),
    }),
  };
}

/**
 * Where a claim is. `org.id` is the top-level claim of just that name, as is `https://example.com/org`;
 * `/org/id` (a JSON Pointer, RFC 6901) is `id` inside `org`.
 */
export function parseClaimPath(claim: string, option: string): readonly string[] {
  const path = claim.startsWith("/")
    ? claim
        .slice(1)
        .split("/")
        .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    : [claim];
  if (path.every((part) => part !== "")) return path;
  throw new IdentityError("bad_option", option, `${option} must name a claim, like tenant or /org/id`);
}

const NAME_RULE = "must be a text of 1 to 256 characters without control characters";

/**
 * A lone surrogate is refused as well: in UTF-8 all of them are one and the same replacement character,
 * so that two tenants would share one hash.
 */
function isName(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value.length > 0 &&
    value.length <= 256 &&
    value.isWellFormed() &&
    !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(value)
  );
}

function refused(description: string): ClaimsVerdict {
  return { verdict: "refused", description };
}

function parsePayload(payload: Uint8Array): Record<string, unknown> | undefined {
  try {
    const claims: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(payload));
    return isJsonObject(claims) ? claims : undefined;
  } catch {
    return undefined;
  }
}

function own(claims: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

function at(claims: Record<string, unknown>, path: readonly string[]): unknown {
  let value: unknown = claims;
  for (const name of path) {
    if (!isJsonObject(value)) return undefined;
    value = own(value, name);
  }
  return value;
}

function namesOneOf(aud: unknown, audience: readonly string[]): boolean {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  return named.some((name) => typeof name === "string" && audience.includes(name));
}

/** Seconds (whole or not) since the epoch to milliseconds, within what a `Date` can hold. */
function instant(seconds: unknown): number | undefined {
  return typeof seconds === "number" && Math.abs(seconds) <= 8.64e12 ? seconds * 1000 : undefined;
}

/** `scope` (RFC 9068 §2.2.3) or else `scp`, each as a list or as text with spaces between. */
function scopesOf(claims: Record<string, unknown>): string[] | undefined {
  const value = own(claims, "scope") ?? own(claims, "scp") ?? "";
  const scopes: readonly unknown[] | undefined =
    typeof value === "string" ? value.split(" ") : Array.isArray(value) ? value : undefined;
  if (!scopes?.every((scope) => typeof scope === "string")) return undefined;
  return [...new Set(scopes.filter((scope) => scope !== ""))];
}
