import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { createQueueGauges } from "./queue-gauges.ts";
import { createTokenCacheCounter } from "./token-cache-counter.ts";
import type { Role } from "./variables.ts";

/** The metrics of a process. A tenant, a principal and a task id are never labels. */
export type Metrics = ReturnType<typeof createMetrics>;

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * The metrics of one process, in a registry of their own; every sample carries `role`. Process metrics
 * (`process_*`, `nodejs_*`) are among them. Names follow the Prometheus conventions (base units, `_total`).
 */
export function createMetrics({ role }: { readonly role: Role }) {
  const registry = new Registry();
  registry.setDefaultLabels({ role });
  collectDefaultMetrics({ register: registry });
  const registers = [registry];

  return {
    registry,
    /** The text that a scrape gets, and its content type. */
    contentType: registry.contentType,
    render: (): Promise<string> => registry.metrics(),

    /** Fed at each scrape, once `watchQueue` was called. */
    ...createQueueGauges(registers),

    /** Fed at each scrape, once `watchTokenCache` was called. */
    ...createTokenCacheCounter(registers),

    /** `method`: a known JSON-RPC method, or `"other"`; `code`: the HTTP status. */
    httpRequests: new Counter({
      name: "perdure_http_requests_total",
      help: "Requests to the MCP endpoint that were answered",
      labelNames: ["method", "code"] as const,
      registers,
    }),
    httpRequestSeconds: new Histogram({
      name: "perdure_http_request_duration_seconds",
      help: "Time from a request's arrival to the end of its response; streams are not counted",
      labelNames: ["method"] as const,
      buckets: SECONDS,
      registers,
    }),
    /** `to`: a task status; counted by the process that made the move. */
    taskTransitions: new Counter({
      name: "perdure_task_transitions_total",
      help: "Moves of tasks, by the status they led to",
      labelNames: ["to"] as const,
      registers,
    }),
    taskWakeUps: new Counter({
      name: "perdure_task_wakeups_total",
      help: "Wake-ups that this worker received",
      registers,
    }),
    leaseTakeovers: new Counter({
      name: "perdure_lease_takeovers_total",
      help: "Leases of silent workers that this process ended",
      registers,
    }),
    /** `reason`: why the claim was stale. */
    fencedWrites: new Counter({
      name: "perdure_fenced_writes_total",
      help: "Writes of a stale claim, which changed nothing",
      labelNames: ["reason"] as const,
      registers,
    }),
    reconcilerActions: new Counter({
      name: "perdure_reconciler_actions_total",
      help: "What the reconciler did with due tasks",
      labelNames: ["action"] as const,
      registers,
    }),
    tasksRunning: new Gauge({
      name: "perdure_tasks_running",
      help: "Tasks that this worker is running",
      registers,
    }),
    listeners: new Gauge({
      name: "perdure_listeners",
      help: "Open subscription streams",
      registers,
    }),
    hintLagSeconds: new Histogram({
      name: "perdure_hint_lag_seconds",
      help: "Time from a task's change to the frame that told a listener",
      buckets: SECONDS,
      registers,
    }),
    /** `command`: the name of a script, `read`, or `send-wake-up`. */
    redisCommandSeconds: new Histogram({
      name: "perdure_redis_command_duration_seconds",
      help: "Time from asking Redis to its reply; a wait for the connection counts",
      labelNames: ["command"] as const,
      buckets: SECONDS,
      registers,
    }),
  };
}
