import {
  createCipheriv,
  createDecipheriv,
  createHash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from "node:crypto";
import { canonicalJson, digestOf, type JsonObject, type JsonValue } from "./json.ts";
import { wireErrors } from "./wire-error.ts";

/** What a state is good for, and for nothing else. */
export interface StateBinding {
  readonly tenant: string;
  readonly principal: string;
  readonly method: string;
  /** What the request is about: {@link requestDigest} of its params. */
  readonly digest: string;
}

/** What came out of a sealed text. Only `"open"` may be acted upon. */
export type OpenedState =
  | { readonly verdict: "open"; readonly value: JsonValue }
  /** Not one of ours, or changed on the way. */
  | { readonly verdict: "invalid" }
  | { readonly verdict: "expired" }
  /** Ours, but made for another caller or another request. */
  | { readonly verdict: "mismatch" };

/** Seals and opens `requestState` (basic/patterns/mrtr §Server Requirements). */
export interface StateSeal {
  /** The value as an opaque text that is good for `ttlMs`. Throws `invalidParams` when it would be over 64 KiB. */
  seal(payload: JsonValue, binding: StateBinding, ttlMs: number): string;
  /** Whatever the text is, a value comes back, never an exception. */
  open(text: string, binding: StateBinding): OpenedState;
}

/** What a seal needs. */
export interface StateSealOptions {
  /** Secrets of at least 32 characters. The first seals, all open: put a new one in front, drop the old one later. */
  readonly keys: readonly [string, ...string[]];
  /** Milliseconds since the epoch. Replicas' clocks may differ by less than the shortest `ttlMs`. */
  readonly now: () => number;
}

/** The longest text that is made or looked at. */
export const MAX_STATE_LENGTH = 65_536;
const MIN_KEY_LENGTH = 32;
const OF_ONE_TRY: ReadonlySet<string> = new Set(["_meta", "inputResponses", "requestState"]);

/*
 *  version 1 | key id 4 | nonce 12 |  AES-256-GCM of { expiry 8 | binding digest 32 | payload's JSON }  | tag 16
 *  └──────── authenticated ───────┘
 *
 * The binding is inside what is encrypted, and not in the associated data: so a text that is ours but was made for
 * someone or something else can be told from one that was changed, and its digest tells an outsider nothing.
 */
const VERSION = 1;
const KEY_ID = 4;
const NONCE = 12;
const TAG = 16;
const HEAD = 1 + KEY_ID + NONCE;
const EXPIRY = 8;
const BINDING = 32;

/** A seal on the given secrets. It keeps nothing: any replica with a common key opens what another sealed. */
export function createStateSeal({ keys, now }: StateSealOptions): StateSeal {
  const ring = new Map<string, Buffer>();
  for (const secret of keys) {
    if (secret.length < MIN_KEY_LENGTH) throw new RangeError(`a key has under ${MIN_KEY_LENGTH} characters`);
    ring.set(keyIdOf(secret).toString("hex"), keyOf(secret));
  }
  const sealingId = keyIdOf(keys[0]);
  const sealingKey = keyOf(keys[0]);

  return {
    seal(payload, binding, ttlMs) {
      const expiry = Buffer.alloc(EXPIRY);
      expiry.writeDoubleBE(now() + ttlMs);
      const nonce = randomBytes(NONCE);
      const head = Buffer.concat([Buffer.of(VERSION), sealingId, nonce]);
      const cipher = createCipheriv("aes-256-gcm", sealingKey, nonce, { authTagLength: TAG }).setAAD(head);
      const text = Buffer.concat([
        head,
        cipher.update(Buffer.concat([expiry, bindingDigest(binding), Buffer.from(JSON.stringify(payload))])),
        cipher.final(),
        cipher.getAuthTag(),
      ]).toString("base64url");
      if (text.length > MAX_STATE_LENGTH) {
        throw wireErrors.invalidParams("The call has gathered more than a requestState can hold");
      }
      return text;
    },

    open(text, binding) {
      const content = decrypt(ring, text);
      if (!content) return { verdict: "invalid" };
      if (!timingSafeEqual(content.subarray(EXPIRY, EXPIRY + BINDING), bindingDigest(binding))) {
        return { verdict: "mismatch" };
      }
      if (now() >= content.readDoubleBE(0)) return { verdict: "expired" };
      const value: JsonValue = JSON.parse(content.subarray(EXPIRY + BINDING).toString("utf8"));
      return { verdict: "open", value };
    },
  };
}

/**
 * What stays the same from a request to its retry: all params but `_meta`, `inputResponses` and `requestState`. For a
 * `tools/call` that is the tool's name and its arguments, in whatever order their members come.
 */
export function requestDigest(params: JsonObject): string {
  return digestOf(Object.fromEntries(Object.entries(params).filter(([name]) => !OF_ONE_TRY.has(name))));
}

/** The content that one of our keys encrypted; `undefined` for anything else, down to a single bit. */
function decrypt(ring: ReadonlyMap<string, Buffer>, text: string): Buffer | undefined {
  if (text.length > MAX_STATE_LENGTH) return undefined;
  const bytes = Buffer.from(text, "base64url");
  // The decoder skips what it does not know and ignores spare bits: only the one spelling of these bytes is ours.
  if (bytes.toString("base64url") !== text) return undefined;
  if (bytes.length < HEAD + EXPIRY + BINDING + TAG || bytes[0] !== VERSION) return undefined;
  const key = ring.get(bytes.subarray(1, 1 + KEY_ID).toString("hex"));
  if (!key) return undefined;
  const head = bytes.subarray(0, HEAD);
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, head.subarray(1 + KEY_ID), { authTagLength: TAG })
      .setAAD(head)
      .setAuthTag(bytes.subarray(-TAG));
    return Buffer.concat([decipher.update(bytes.subarray(HEAD, -TAG)), decipher.final()]);
  } catch {
    return undefined;
  }
}

function bindingDigest({ tenant, principal, method, digest }: StateBinding): Buffer {
  return createHash("sha256")
    .update(canonicalJson([tenant, principal, method, digest]), "utf8")
    .digest();
}

function keyOf(secret: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", "perdure requestState key", 32));
}

function keyIdOf(secret: string): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, "", "perdure requestState key id", KEY_ID));
}
