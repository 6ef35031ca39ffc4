import { createStateSeal } from "@perdure/protocol";
import { NO_TRACING, createLog, createMetrics } from "@perdure/runtime";
import type { Log } from "@perdure/runtime";
import { createTaskService } from "@perdure/tasks";
import type { HintSource, TaskStore, WakeUps } from "@perdure/tasks";
import type { Catalog, Prompt, Resource, Tool } from "@perdure/toolkit/host";
import { SYSTEM_CLOCK } from "./api-deps.ts";
import type { ApiDeps, ApiLimits } from "./api-deps.ts";
import { createApi } from "./create-api.ts";
import type { Api } from "./create-api.ts";
import { createOriginGuard } from "./identity/origin-guard.ts";
import type { Refused } from "./identity/identity.ts";
import type { TokenVerifier } from "./identity/token-verifier.ts";

/*
 * For tests: a replica on given ports, whose tokens are plain text (`tenant/principal/scope+scope`).
 */

/** A running replica of a test. */
export interface BenchReplica {
  readonly api: Api;
  readonly url: string;
  /** Lines of its log, parsed. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
}

/** The ports of the replica. */
export interface BenchPorts {
  readonly store: TaskStore;
  readonly wakeUps: WakeUps;
  readonly hints: HintSource;
}

export const BENCH_LIMITS: ApiLimits = {
  maxBodyBytes: 65_536,
  maxResultBytes: 65_536,
  callTimeoutMs: 20_000,
  taskTtlMs: 600_000,
  pollIntervalMs: 1000,
  listenMaxAgeMs: 600_000,
  keepAliveMs: 15_000,
  resyncMs: 12_000,
  drainMs: 3000,
};

/** Starts a replica that offers `offers`. */
export async function startReplica(
  ports: BenchPorts,
  offers: readonly (Tool | Prompt | Resource)[],
  changes: Partial<Omit<ApiDeps, "limits">> & { readonly limits?: Partial<ApiLimits> } = {},
): Promise<BenchReplica> {
  const lines: Readonly<Record<string, unknown>>[] = [];
  const log: Log = createLog({
    level: "debug",
    role: "api",
    destination: { write: (line) => void lines.push(JSON.parse(line)) },
  });
  const api = createApi({
    server: { host: "127.0.0.1", port: 0, name: "perdure", version: "0.0.0-test" },
    tasks: createTaskService({ ...ports, onUnsentWakeUp: () => {} }),
    hints: ports.hints,
    rates: { take: () => Promise.resolve({ verdict: "allowed" }) },
    catalog: catalogOf(offers),
    verifier: plainVerifier,
    originGuard: createOriginGuard({ host: "127.0.0.1", allowedHosts: [], allowedOrigins: [] }),
    seal: createStateSeal({ keys: ["a secret that all replicas of the bench share"], now: Date.now }),
    log,
    metrics: createMetrics({ role: "api" }),
    tracing: NO_TRACING,
    clock: SYSTEM_CLOCK,
    ...changes,
    limits: { ...BENCH_LIMITS, ...changes.limits },
  });
  const { url } = await api.start();
  return { api, url, lines };
}

function catalogOf(offers: readonly (Tool | Prompt | Resource)[]): Catalog {
  const tools = new Map<string, Tool>();
  const prompts = new Map<string, Prompt>();
  const resources = new Map<string, Resource>();
  const resourceTemplates = new Map<string, Resource>();
  for (const offer of offers) {
    if ("run" in offer) tools.set(offer.name, offer);
    else if ("get" in offer) prompts.set(offer.name, offer);
    else if (offer.uri !== undefined) resources.set(offer.uri, offer);
    else resourceTemplates.set(offer.uriTemplate ?? "", offer);
  }
  return { tools, prompts, resources, resourceTemplates };
}

const refused = (status: 401 | 403, challenge: string): Refused => ({
  verdict: "refused",
  status,
  description: status === 401 ? "A bearer token is needed" : "A scope is missing",
  headers: { "WWW-Authenticate": challenge },
});

/** `Bearer acme/alice/reports+admin@1760000000000`: the last part is when it expires. Absent: `acme/alice`. `none`: refused. */
export const plainVerifier: TokenVerifier = {
  verify(authorization) {
    const [header] = typeof authorization === "string" ? [authorization] : (authorization ?? []);
    const [who = "acme/alice", expires] = (header ?? "").replace(/^Bearer /, "").split("@");
    if (who === "none") return refused(401, 'Bearer resource_metadata="http://bench/meta"');
    const [tenant = "", principal = "alice", scopes = ""] = (who === "" ? "acme/alice" : who).split("/");
    return {
      verdict: "ok",
      identity: {
        tenant,
        principal,
        scopes: scopes.split("+").filter(Boolean),
        expiresAtMs: expires === undefined ? undefined : Number(expires),
      },
    };
  },
  insufficientScope: (needed) =>
    refused(403, `Bearer error="insufficient_scope", scope="${needed.join(" ")}"`),
  start: async () => {},
  stop: async () => {},
  stats: () => ({
    cached: 0,
    hits: 0,
    misses: 0,
    refused: 0,
    keyFetches: 0,
    keyFetchFailures: 0,
    keysAgeMs: undefined,
  }),
  problems: () => [],
};
