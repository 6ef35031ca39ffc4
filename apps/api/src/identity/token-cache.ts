import type { Identity } from "./identity.ts";

/** A verified token, remembered by its hash: the token itself is kept nowhere. */
export interface RememberedToken {
  readonly identity: Identity & { readonly expiresAtMs: number };
  /** The key set that vouched for it; a changed set means that it must be checked again. */
  readonly generation: number;
}

/** At most `size` tokens; the one that was not asked for the longest goes first. */
export interface TokenCache {
  get(digest: string): RememberedToken | undefined;
  set(digest: string, token: RememberedToken): void;
  delete(digest: string): void;
  count(): number;
}

/** A {@link TokenCache}; a `size` of 0 remembers nothing. */
export function createTokenCache(size: number): TokenCache {
  const tokens = new Map<string, RememberedToken>();
  return {
    get(digest) {
      const token = tokens.get(digest);
      if (token) {
        tokens.delete(digest);
        tokens.set(digest, token);
      }
      return token;
    },
    set(digest, token) {
      tokens.delete(digest);
      tokens.set(digest, token);
      for (const oldest of tokens.keys()) {
        if (tokens.size <= size) break;
        tokens.delete(oldest);
      }
    },
    delete: (digest) => void tokens.delete(digest),
    count: () => tokens.size,
  };
}
