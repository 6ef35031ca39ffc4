import { urlHost } from "@perdure/runtime";
import type { Config, Log } from "@perdure/runtime";
import type { ServerOptions } from "./api-deps.ts";
import { assertLoopback } from "./identity/loopback.ts";
import { createOpenIdentity } from "./identity/open-identity.ts";
import {
  protectedResourceMetadata,
  protectedResourceMetadataPaths,
  protectedResourceMetadataUrl,
} from "./identity/protected-resource.ts";
import { createTokenVerifier } from "./identity/token-verifier.ts";
import type { TokenVerifier } from "./identity/token-verifier.ts";

/** How a replica knows its callers, and what it publishes about that. */
export interface ReplicaIdentity {
  readonly verifier: TokenVerifier;
  readonly resourceMetadata?: ServerOptions["resourceMetadata"];
}

/**
 * Identity as configured. In `jwt` mode `parseConfig` for the role `api` has seen that issuer, audience and key set are
 * there. Throws an `IdentityError` for what cannot work.
 */
export function identityOf(config: Config, log: Log): ReplicaIdentity {
  const { issuer, audience, jwks } = config;
  if (config.auth === "open") {
    assertLoopback(config.host);
    log.warn({}, "Open mode: every request is let in, as tenant and principal local");
    return { verifier: createOpenIdentity() };
  }
  if (issuer === undefined || jwks === undefined)
    throw new Error("Tokens cannot be checked without an issuer and a key set");
  const resource = config.publicUrl ?? `http://${urlHost(config.host)}:${config.port}/mcp`;
  const options = { ...config, issuer, audience, jwks, cacheSize: config.tokenCacheSize };
  return {
    verifier: createTokenVerifier(
      { ...options, metadataUrl: protectedResourceMetadataUrl(resource) },
      {
        now: () => Date.now(),
        log: { info: (f, m) => log.info({ ...f }, m), warn: (f, m) => log.warn({ ...f }, m) },
      },
    ),
    resourceMetadata: {
      paths: protectedResourceMetadataPaths(resource),
      document: protectedResourceMetadata({ resource, issuer, scopes: config.requiredScopes }),
    },
  };
}
