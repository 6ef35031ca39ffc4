const LIST_TTL_MS = 60_000;

/**
 * The members that let a client keep a result (MCP caching). A catalog changes only with a deployment, so lists are
 * good for a minute; a resource is anybody's, so it is good for nothing but this once.
 */
export function cacheHints(scope: "public" | "private", ttlMs: number = LIST_TTL_MS): string {
  return `"ttlMs":${ttlMs},"cacheScope":"${scope}"`;
}
