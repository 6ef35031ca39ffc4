import { isLoopback } from "@perdure/runtime";
import { IdentityError } from "./identity-error.ts";

/** Which `Host` and `Origin` values are served. */
export interface OriginGuardOptions {
  /** The address that the server binds to. */
  readonly host: string;
  /** `name` (any port) or `name:port`. Empty: the loopback names with any port. No wildcards. */
  readonly allowedHosts: readonly string[];
  /** `https://app.example.com`, port included when it is not the scheme's own. Added to the default. No wildcards. */
  readonly allowedOrigins: readonly string[];
}

/** What the guard says. A refused request gets 403 and the sentence. */
export type OriginVerdict =
  | { readonly verdict: "ok" }
  | { readonly verdict: "refused"; readonly status: 403; readonly description: string };

/** A header as `req.headersDistinct` gives it; a plain string is one value. */
export type HeaderValues = string | readonly string[] | undefined;

/** Keeps web pages of strangers away: DNS rebinding shows in `Host`, a foreign page in `Origin`. */
export interface OriginGuard {
  /** Take both from `req.headersDistinct`: `req.headers` hides a second `Host`. */
  check(host: HeaderValues, origin: HeaderValues): OriginVerdict;
}

/**
 * `Host` must be there once, well-formed and allowed. `Origin` may be absent; a present one must be there once and be
 * allowed: listed, or a loopback origin (any port) while the server is bound to loopback (MCP 2026-07-28, Streamable
 * HTTP §Security). A bad entry throws an {@link IdentityError} `bad_option`.
 */
export function createOriginGuard({ host, allowedHosts, allowedOrigins }: OriginGuardOptions): OriginGuard {
  const hosts = new Set(allowedHosts.length > 0 ? allowedHosts.map(parseAllowedHost) : defaultHosts(host));
  const origins = new Set(allowedOrigins.map(parseAllowedOrigin));
  const loopbackOrigins = isLoopback(host);

  return {
    check(hostValues, originValues) {
      const hostHeader = only(hostValues);
      const named = hostHeader === undefined ? undefined : parseHost(hostHeader);
      if (named === undefined) return refused("The Host header is missing, doubled or malformed");
      if (!hosts.has(named.name) && !hosts.has(`${named.name}:${named.port}`)) {
        return refused("The Host header names a host that is not served here");
      }
      if (originValues === undefined || (Array.isArray(originValues) && originValues.length === 0)) return OK;
      const origin = parseOrigin(only(originValues) ?? "");
      if (origin === undefined) return refused("The Origin header is doubled or malformed");
      if (origins.has(origin.text) || (loopbackOrigins && origin.isLoopback)) return OK;
      return refused("The Origin header names an origin that is not allowed here");
    },
  };
}

const OK = { verdict: "ok" } as const;

function refused(description: string): OriginVerdict {
  return { verdict: "refused", status: 403, description };
}

function only(values: HeaderValues): string | undefined {
  if (values === undefined || typeof values === "string") return values;
  return values.length === 1 ? values[0] : undefined;
}

const LOOPBACK_HOSTS = ["localhost", "127.0.0.1", "[::1]"];

/** The bound address itself is among them when it is another one of loopback, like 127.0.0.2. */
function defaultHosts(host: string): string[] {
  return isLoopback(host) ? [...LOOPBACK_HOSTS, parseHost(host)?.name ?? "localhost"] : LOOPBACK_HOSTS;
}

const HOST = /^(?<name>\[[0-9a-f:.]{2,45}\]|[a-z0-9_](?:[a-z0-9._-]{0,252}))(?::(?<port>[0-9]{1,5}))?$/i;

/** Lower-case name, and the port when one is said. */
function parseHost(header: string): { name: string; port: string } | undefined {
  const groups = header.length <= 262 ? HOST.exec(header)?.groups : undefined;
  const name = groups?.["name"]?.toLowerCase();
  const port = groups?.["port"] ?? "";
  if (name === undefined || Number(port) > 65_535) return undefined;
  return { name, port: port === "" ? "" : String(Number(port)) };
}

/** The text to compare by, or undefined for what no browser sends. An opaque origin (`null`) is never allowed. */
function parseOrigin(header: string): { text: string; isLoopback: boolean } | undefined {
  if (header.length > 512) return undefined;
  if (/^https?:\/\/[^\s/?#@\\]+$/i.test(header)) {
    const url = URL.parse(header);
    return url ? { text: url.origin, isLoopback: isLoopback(url.hostname) } : undefined;
  }
  if (/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\]+$/i.test(header) || header === "null") {
    return { text: header.toLowerCase(), isLoopback: false };
  }
  return undefined;
}

function parseAllowedHost(entry: string): string {
  const parsed = parseHost(entry);
  if (parsed) return parsed.port === "" ? parsed.name : `${parsed.name}:${parsed.port}`;
  throw new IdentityError(
    "bad_option",
    "allowedHosts",
    `${JSON.stringify(entry)} is no host: use a name or name:port, like tasks.example.com (no wildcards)`,
  );
}

function parseAllowedOrigin(entry: string): string {
  const parsed = entry.includes("*") || entry === "null" ? undefined : parseOrigin(entry.replace(/\/$/, ""));
  if (parsed) return parsed.text;
  throw new IdentityError(
    "bad_option",
    "allowedOrigins",
    `${JSON.stringify(entry)} is no origin: use scheme://host[:port], like https://app.example.com (no wildcards)`,
  );
}
