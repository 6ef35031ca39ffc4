import type { StateSeal } from "@perdure/protocol";
import type { Log, Metrics, Tracing } from "@perdure/runtime";
import type { HintSource, RateLimits, TaskService } from "@perdure/tasks";
import type { Catalog } from "@perdure/toolkit/host";
import type { OriginGuard } from "./identity/origin-guard.ts";
import type { ProtectedResourceMetadata } from "./identity/protected-resource.ts";
import type { TokenVerifier } from "./identity/token-verifier.ts";

/** Two clocks, in milliseconds. */
export interface Clock {
  /** Since the epoch: for what others measure by it, such as a token's expiry. */
  readonly wallMs: () => number;
  /** Never goes back: for how long something takes here. */
  readonly monotonicMs: () => number;
}

/** The clocks of this process. */
export const SYSTEM_CLOCK: Clock = { wallMs: () => Date.now(), monotonicMs: () => performance.now() };

/** What the server says of itself, and where it listens. */
export interface ServerOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly name: string;
  readonly version: string;
  /** Guidance for models, shown by `server/discover`. */
  readonly instructions?: string | undefined;
  /** The RFC 9728 document, and the paths that answer with it. Absent in open mode. */
  readonly resourceMetadata?: {
    readonly paths: readonly string[];
    readonly document: ProtectedResourceMetadata;
  };
}

/** Bounds of one replica. Times in milliseconds. */
export interface ApiLimits {
  readonly maxBodyBytes: number;
  /** The longest result of a tool that runs in the replica, as JSON text. */
  readonly maxResultBytes: number;
  /** How long a call that a client waits for may take. */
  readonly callTimeoutMs: number;
  /** The default of tools that do not say. */
  readonly taskTtlMs: number;
  readonly pollIntervalMs: number;
  readonly listenMaxAgeMs: number;
  readonly keepAliveMs: number;
  readonly resyncMs: number;
  /** How long `stop` waits for requests in hand. */
  readonly drainMs: number;
  /** Open listen streams, and calls in hand, of one replica; more are refused with 429. Defaults 20,000 and 2,000. */
  readonly maxListens?: number;
  readonly maxCalls?: number;
  /** Entries on a page of a list. Default 100. */
  readonly pageSize?: number;
}

/** All that a replica stands on. Nothing of it is started or stopped by the API but what it makes itself. */
export interface ApiDeps {
  readonly server: ServerOptions;
  readonly tasks: TaskService;
  readonly hints: HintSource;
  readonly rates: RateLimits;
  readonly catalog: Catalog;
  readonly verifier: TokenVerifier;
  readonly originGuard: OriginGuard;
  readonly seal: StateSeal;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
  readonly limits: ApiLimits;
  readonly clock: Clock;
}
