import { IdentityError } from "./identity-error.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** The document of RFC 9728 §2. */
export interface ProtectedResourceMetadata {
  readonly resource: string;
  readonly authorization_servers: readonly string[];
  readonly bearer_methods_supported: readonly ["header"];
  readonly scopes_supported?: readonly string[];
}

/** What the document is made of. */
export interface ProtectedResource {
  /** The public URL of the MCP endpoint: the resource identifier (RFC 8707 §2). */
  readonly resource: string;
  readonly issuer: string;
  /** What basic use needs; left out of the document when empty. Never `offline_access`. */
  readonly scopes: readonly string[];
}

/** The JSON to serve, publicly and without a token, at each of {@link protectedResourceMetadataPaths}. */
export function protectedResourceMetadata(of: ProtectedResource): ProtectedResourceMetadata {
  return {
    resource: of.resource,
    authorization_servers: [of.issuer],
    bearer_methods_supported: ["header"],
    ...(of.scopes.length > 0 && { scopes_supported: [...of.scopes] }),
  };
}

/** Where a client finds the document: the well-known part goes between host and path (RFC 9728 §3.1). */
export function protectedResourceMetadataUrl(resource: string): string {
  const url = parseResource(resource);
  return `${url.origin}${WELL_KNOWN}${pathOf(url)}${url.search}`;
}

/** The paths that answer with it: the root form, the one of `/mcp`, and the public path's when a proxy changes it. */
export function protectedResourceMetadataPaths(resource: string): readonly string[] {
  const paths = [WELL_KNOWN, `${WELL_KNOWN}/mcp`, `${WELL_KNOWN}${pathOf(parseResource(resource))}`];
  return [...new Set(paths)];
}

function pathOf(url: URL): string {
  return url.pathname === "/" ? "" : url.pathname;
}

function parseResource(resource: string): URL {
  const url = URL.parse(resource);
  if (
    url &&
    /^https?:$/.test(url.protocol) &&
    url.hash === "" &&
    url.username === "" &&
    url.password === ""
  ) {
    return url;
  }
  throw new IdentityError(
    "bad_option",
    "resource",
    "the public URL must be an http(s) URL without a fragment or credentials, like https://tasks.example.com/mcp",
  );
}
