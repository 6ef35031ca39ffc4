import { hash, randomBytes } from "node:crypto";

const TASK_ID = /^[A-Za-z0-9_-]{24}$/;

/** A new task id: 144 bits from a cryptographic source, 24 characters that are safe in a header, a key and a URL. */
export function mintTaskId(): string {
  return randomBytes(18).toString("base64url");
}

/** True for what `mintTaskId` could have made. */
export function isTaskId(text: string): boolean {
  return TASK_ID.test(text);
}

/** A random claim id or operation id: 72 bits, 12 characters. */
export function mintNonce(): string {
  return randomBytes(9).toString("base64url");
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
