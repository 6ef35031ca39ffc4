export { hasScopes } from "./identity.ts";
export type { ChallengeError, Identity, Refused, Verdict } from "./identity.ts";
export { IdentityError } from "./identity-error.ts";
export type { IdentityErrorCode } from "./identity-error.ts";
export { createTokenVerifier } from "./token-verifier.ts";
export type { IdentityLog, TokenVerifier, TokenVerifierDeps, TokenVerifierStats } from "./token-verifier.ts";
export type { TokenVerifierOptions } from "./token-verifier-options.ts";
export { createOpenIdentity } from "./open-identity.ts";
export { assertLoopback, isLoopback } from "./loopback.ts";
export { createOriginGuard } from "./origin-guard.ts";
export type { HeaderValues, OriginGuard, OriginGuardOptions, OriginVerdict } from "./origin-guard.ts";
export {
  protectedResourceMetadata,
  protectedResourceMetadataPaths,
  protectedResourceMetadataUrl,
} from "./protected-resource.ts";
export type { ProtectedResource, ProtectedResourceMetadata } from "./protected-resource.ts";
