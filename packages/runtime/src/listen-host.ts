import { isIP } from "node:net";

/*
 * The host that a process listens on, as an operator writes it: a name or an address, IPv6 with or without brackets.
 */

/**
 * True for a host that only this machine can reach: `localhost`, 127.0.0.0/8, `::1` (with or without brackets).
 * No name is resolved, so any other name is false.
 */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  if (name === "localhost") return true;
  const address = bareHost(name);
  const family = isIP(address);
  if (family === 4) return address.startsWith("127.");
  return family === 6 && URL.parse(`http://[${address}]`)?.hostname === "[::1]";
}

/** Without brackets, as a socket takes it. */
export function bareHost(host: string): string {
  return host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
}

/** As it stands in a URL: an IPv6 address in brackets. */
export function urlHost(host: string): string {
  const bare = bareHost(host);
  return bare.includes(":") ? `[${bare}]` : bare;
}
