import { isLoopback } from "@perdure/runtime";
import { IdentityError } from "./identity-error.ts";

/** Throws an {@link IdentityError} `open_not_loopback` unless {@link isLoopback}: open mode serves nobody else. */
export function assertLoopback(host: string): void {
  if (isLoopback(host)) return;
  throw new IdentityError(
    "open_not_loopback",
    "host",
    `open mode lets everyone in, so it binds to loopback alone (127.0.0.1, ::1, localhost), not to ${JSON.stringify(host)}`,
  );
}
