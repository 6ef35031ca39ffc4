import { isIP } from "node:net";
import { IdentityError } from "./identity-error.ts";

/**
 * True for a host that only this machine can reach: `localhost`, 127.0.0.0/8, `::1` (with or without brackets).
 * No name is resolved, so any other name is false.
 */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  if (name === "localhost") return true;
  const address = name.startsWith("[") && name.endsWith("]") ? name.slice(1, -1) : name;
  const family = isIP(address);
  if (family === 4) return address.startsWith("127.");
  return family === 6 && URL.parse(`http://[${address}]`)?.hostname === "[::1]";
}

/** Throws an {@link IdentityError} `open_not_loopback` unless {@link isLoopback}: open mode serves nobody else. */
export function assertLoopback(host: string): void {
  if (isLoopback(host)) return;
  throw new IdentityError(
    "open_not_loopback",
    "host",
    `open mode lets everyone in, so it binds to loopback alone (127.0.0.1, ::1, localhost), not to ${JSON.stringify(host)}`,
  );
}
