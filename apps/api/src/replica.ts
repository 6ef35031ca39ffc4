import { VERSION } from "@perdure/runtime";
import type { Config, Log, Metrics, Service, Tracing } from "@perdure/runtime";
import { MOVES, createTaskService } from "@perdure/tasks";
import type { HintSource, RateLimits, TaskService, TaskStore, WakeUps } from "@perdure/tasks";
import type { Catalog } from "@perdure/toolkit/host";
import { SYSTEM_CLOCK } from "./api-deps.ts";
import { createApi } from "./create-api.ts";
import { identityOf } from "./identity-of.ts";
import { createOriginGuard } from "./identity/origin-guard.ts";
import { sealOf } from "./seal-of.ts";

/** What a replica is made of beside its configuration. */
export interface ReplicaParts {
  readonly config: Config;
  readonly store: TaskStore;
  readonly wakeUps: WakeUps;
  readonly hints: HintSource;
  readonly rates: RateLimits;
  readonly catalog: Catalog;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly tracing: Tracing;
}

/** A replica as a process runs it. */
export interface Replica {
  /** In the order of their start: the issuer's keys, then the endpoint. */
  readonly services: readonly Service[];
  /** Says that the process is about to stop: it is not ready any more, and serves on with connections that close. */
  leave(): void;
  /** What keeps it from serving, each a sentence for an operator. */
  problems(): readonly string[];
}

/** A replica as configured. Throws for a configuration that cannot work; starts nothing. */
export function createReplica({
  config,
  store,
  wakeUps,
  hints,
  rates,
  catalog,
  log,
  metrics,
  tracing,
}: ReplicaParts): Replica {
  const { verifier, resourceMetadata } = identityOf(config, log);
  metrics.watchTokenCache(() => verifier.stats());
  const { host, port, serverName: name, instructions } = config;
  const api = createApi({
    server: {
      host,
      port,
      name,
      version: VERSION,
      instructions,
      ...(resourceMetadata && { resourceMetadata }),
    },
    tasks: countedTasks(
      createTaskService({
        store,
        wakeUps,
        onUnsentWakeUp: ({ ref }, error) =>
          log.warn({ taskId: ref.taskId, err: error }, "A wake-up was not sent; the reconciler sends it"),
      }),
      metrics,
    ),
    hints,
    rates,
    catalog,
    verifier,
    originGuard: createOriginGuard(config),
    seal: sealOf(config, log),
    log,
    metrics,
    tracing,
    limits: config,
    clock: SYSTEM_CLOCK,
  });
  const endpoint = {
    start: async () => log.info(await api.start(), "Listening"),
    stop: () => api.stop(),
  };
  let isLeaving = false;
  return {
    services: [verifier, endpoint],
    leave() {
      isLeaving = true;
      api.leave();
    },
    problems: () => [
      ...(isLeaving ? ["The replica is stopping"] : []),
      ...(api.isListening ? [] : ["The MCP endpoint is not listening"]),
      ...verifier.problems(),
    ],
  };
}

/** Counts the moves that clients make; those of workers are counted there. */
function countedTasks(tasks: TaskService, { taskTransitions }: Metrics): TaskService {
  return {
    ...tasks,
    async create(task) {
      const reply = await tasks.create(task);
      if (reply.verdict === "created") taskTransitions.inc({ to: MOVES.create.to });
      return reply;
    },
    async answer(address, answers) {
      const reply = await tasks.answer(address, answers);
      if (reply.verdict === "accepted" && reply.wakeUp) taskTransitions.inc({ to: MOVES.resume.to });
      return reply;
    },
    async cancel(address, reason) {
      const reply = await tasks.cancel(address, reason);
      if (reply.verdict === "cancelled") taskTransitions.inc({ to: MOVES.cancel.to });
      return reply;
    },
  };
}
