import { randomBytes } from "node:crypto";
import { createStateSeal } from "@perdure/protocol";
import type { StateSeal } from "@perdure/protocol";
import type { Config, Log } from "@perdure/runtime";

/**
 * The seal of `requestState`. Without a configured secret it has one of its own, which no other replica opens and which
 * ends with the process: fine for one replica, a warning for more.
 */
export function sealOf(config: Config, log: Log): StateSeal {
  const [first, ...older] = config.secrets;
  if (first !== undefined) return createStateSeal({ keys: [first, ...older], now: Date.now });
  if (config.auth === "jwt") {
    log.warn(
      {},
      "PERDURE_SECRET is not set: a call that waits for input cannot go on at another replica, or after a restart",
    );
  }
  return createStateSeal({ keys: [randomBytes(32).toString("base64")], now: Date.now });
}
