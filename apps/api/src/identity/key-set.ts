import { createLocalJWKSet, errors } from "jose";
import type { CryptoKey, JSONWebKeySet, LocalJWKSet } from "jose";
import { isJsonObject } from "./json-object.ts";
import type { KeyDocument } from "./key-document.ts";
import type { IdentityLog } from "./token-verifier.ts";

/** What a key set stands on. All times are milliseconds; `monotonicNow` never goes back. */
export interface KeySetOptions {
  readonly document: KeyDocument;
  readonly monotonicNow: () => number;
  readonly refreshMs: number;
  readonly cooldownMs: number;
  readonly timeoutMs: number;
  readonly log?: IdentityLog | undefined;
}

/** `keys` are the few that a token may have been signed with; `unavailable`: no key set was ever seen. */
export type KeySearch =
  | { readonly verdict: "found"; readonly keys: readonly CryptoKey[]; readonly generation: number }
  | { readonly verdict: "unknown" }
  | { readonly verdict: "unavailable"; readonly retryAfterMs: number };

/**
 * The issuer's public keys.
 *
 *     first token ─► load ─► good set ──older than refreshMs──► load in the background, the good set serves on
 *                     │         └─────unknown kid──────────────► load and look again, once per cooldown
 *                     └─ failed, no set yet: unavailable, tried again after at most 2 s
 *
 * A load that fails changes nothing: the last good set serves for as long as the issuer is down.
 */
export interface KeySet {
  /** Never rejects. */
  find(header: { alg: string; kid?: string }): Promise<KeySearch>;
  /** Loads in the background what is old by now. Costs a comparison when nothing is. */
  refreshIfOld(): void;
  /** One more whenever the set's text has changed. */
  generation(): number;
  /** Resolves after the first load, good or bad. */
  start(): Promise<void>;
  /** Ends a load under way; no other begins. Idempotent. */
  stop(): Promise<void>;
  loads(): { readonly tried: number; readonly failed: number; readonly ageMs: number | undefined };
  problems(): readonly string[];
}

/** How many keys are tried for a token that names none. */
const MAX_CANDIDATES = 8;
const MAX_KEYS = 100;
const FIRST_RETRY_MS = 2000;

/** A {@link KeySet} of a document. It reads nothing before the first `find` or `start`. */
export function createKeySet(options: KeySetOptions): KeySet {
  const { document, monotonicNow, refreshMs, cooldownMs, timeoutMs, log } = options;
  const retryMs = Math.min(FIRST_RETRY_MS, cooldownMs);
  let current: { text: string; search: LocalJWKSet; loadedAtMs: number } | undefined;
  let generation = 0;
  /** Why the last load failed; said once in the log, however often it fails for the same reason. */
  let failure: string | undefined;
  let triedAtMs = -Infinity;
  let pending: Promise<void> | undefined;
  let tried = 0;
  let failed = 0;
  let lifetime = new AbortController();
  let ticking: NodeJS.Timeout | undefined;

  const load = async (): Promise<void> => {
    tried += 1;
    triedAtMs = monotonicNow();
    try {
      const text = await document.read(AbortSignal.any([lifetime.signal, AbortSignal.timeout(timeoutMs)]));
      if (text !== current?.text) {
        const keys = parseKeySet(text);
        current = { text, search: createLocalJWKSet(keys), loadedAtMs: 0 };
        generation += 1;
        log?.info({ jwks: document.where, keys: keys.keys.length }, "The issuer's keys were loaded");
      } else if (failure !== undefined) {
        log?.info({ jwks: document.where }, "The issuer's keys can be loaded again");
      }
      current.loadedAtMs = monotonicNow();
      failure = undefined;
    } catch (error) {
      if (lifetime.signal.aborted) return;
      failed += 1;
      const reason = reasonOf(error);
      if (reason === failure) return;
      failure = reason;
      log?.warn(
        { code: "jwks_unavailable", jwks: document.where, reason, serving: current !== undefined },
        "The issuer's keys could not be loaded",
      );
    }
  };
  /** Joins the load under way, or begins one unless the last began less than `gapMs` ago; undefined when it did. */
  const loadOnceIn = (gapMs: number): Promise<void> | undefined => {
    if (pending || lifetime.signal.aborted || monotonicNow() - triedAtMs < gapMs) return pending;
    pending = load().finally(() => {
      pending = undefined;
    });
    return pending;
  };
  const refreshIfOld = (): void => {
    if (current && monotonicNow() - current.loadedAtMs < refreshMs) return;
    void loadOnceIn(current ? cooldownMs : retryMs);
  };

  return {
    async find(header) {
      if (!current) await loadOnceIn(retryMs);
      if (!current) return { verdict: "unavailable", retryAfterMs: triedAtMs + retryMs - monotonicNow() };
      refreshIfOld();
      let asked = generation;
      let keys = await candidates(current.search, header);
      if (keys.length === 0) {
        await loadOnceIn(cooldownMs);
        asked = generation;
        keys = await candidates(current.search, header);
      }
      return keys.length > 0 ? { verdict: "found", keys, generation: asked } : { verdict: "unknown" };
    },
    refreshIfOld,
    generation: () => generation,
    async start() {
      if (lifetime.signal.aborted) lifetime = new AbortController();
      ticking ??= setInterval(refreshIfOld, cooldownMs).unref();
      await loadOnceIn(retryMs);
    },
    async stop() {
      clearInterval(ticking);
      ticking = undefined;
      lifetime.abort();
      await pending;
    },
    loads: () => ({ tried, failed, ageMs: current && monotonicNow() - current.loadedAtMs }),
    problems: () =>
      current
        ? []
        : [`The issuer's keys are not loaded from ${document.where}: ${failure ?? "not asked for yet"}`],
  };
}

/** `fetch` says no more than "fetch failed"; its cause knows why. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return `${error.message}: ${"code" in cause ? String(cause.code) : cause.message}`;
}

/** None when no key fits, or when the one that does is unusable (a weak or broken key). */
async function candidates(search: LocalJWKSet, header: { alg: string; kid?: string }): Promise<CryptoKey[]> {
  try {
    return [await search(header)];
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return [];
    const keys: CryptoKey[] = [];
    for await (const key of error) {
      keys.push(key);
      if (keys.length === MAX_CANDIDATES) break;
    }
    return keys;
  }
}

/** A secret, private or odd key is no failure of the set: jose passes over it. */
function parseKeySet(text: string): JSONWebKeySet {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new Error("it is not JSON", { cause });
  }
  if (!isKeySet(parsed)) throw new Error("it is not a JSON Web Key Set");
  if (parsed.keys.length > MAX_KEYS) throw new Error(`it holds more than ${MAX_KEYS} keys`);
  return parsed;
}

function isKeySet(value: unknown): value is JSONWebKeySet {
  return isJsonObject(value) && Array.isArray(value["keys"]) && value["keys"].every(isJsonObject);
}
