import type { CommandLink } from "./command-link.ts";
import type { Keys } from "./keys.ts";
import type { Scripts } from "./scripts.ts";

/** What the adapters of the record stand on. */
export interface RedisStore {
  readonly link: CommandLink;
  readonly scripts: Scripts;
  readonly keys: Keys;
  readonly policy: StorePolicy;
}

/** How long things last in the store. */
export interface StorePolicy {
  /** A claim without a heartbeat. */
  readonly leaseMs: number;
  /** Until a wake-up that nobody has followed is sent again; later ones wait up to three times as long. */
  readonly rewakeMs: number;
  /** An ended task, at least, from its end. Its ttl keeps it too. */
  readonly retentionMs: number;
  /** The owner's memory of an expired task. */
  readonly tombstoneMs: number;
  /** Workers that a task may end before it is given up. */
  readonly maxCrashes: number;
  /** Tasks of one tenant that have not ended, and that workers hold at once; 0 for any number. */
  readonly tenantMaxOpen: number;
  readonly tenantMaxRunning: number;
}
