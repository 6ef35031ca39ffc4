import { hash, randomBytes } from "node:crypto";

const TASK_ID = /^[A-Za-z0-9_-]{24}$/;

/** A new task id: 144 bits from a cryptographic source, 24 characters that are safe in a header, a key and a URL. */
export const mintTaskId = createMint(18);

/** True for what `mintTaskId` could have made. */
export function isTaskId(text: string): boolean {
  return TASK_ID.test(text);
}

/** A random id of a claim, an operation or a request: 72 bits, 12 characters. It tells nobody how many others there are. */
export const mintNonce = createMint(9);

/**
 * Gives random texts of so many bytes. The randomness is taken in bulk: to ask for it each time was a tenth of what a
 * creation costs a replica.
 */
function createMint(bytes: number): () => string {
  const poolBytes = bytes * 256;
  let pool = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at >= pool.length) {
      pool = randomBytes(poolBytes);
      at = 0;
    }
    at += bytes;
    return pool.toString("base64url", at - bytes, at);
  };
}

/** The fixed-length stand-in for a tenant in keys, channels, jobs and logs: 22 characters of SHA-256. */
export function tenantRefOf(tenant: string): string {
  let ref = knownRefs.get(tenant);
  if (ref === undefined) {
    ref = hash("sha256", tenant, "base64url").slice(0, 22);
    if (knownRefs.size >= KNOWN_REFS) knownRefs.clear();
    knownRefs.set(tenant, ref);
  }
  return ref;
}

/** Refs that were asked for lately: each step of a task asks. */
const KNOWN_REFS = 1000;
const knownRefs = new Map<string, string>();
