import type { Service } from "./run-process.ts";
import type { Log } from "./log.ts";
import type { Role } from "./variables.ts";

/** W3C Trace Context: what a next hop continues from. */
export interface TraceParent {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** Values of a span. Never an argument, a result or a token. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** How a span begins. */
export interface SpanOptions {
  /** `server`: answers a client that waits. `consumer`: does what another process has put down. */
  readonly kind: "server" | "consumer";
  /** Of another process. Absent: the span begins a trace. */
  readonly parent?: TraceParent | undefined;
  readonly attributes: SpanAttributes;
  /** Makes the span's id known beforehand, so that a later one can link to it: 16 hex digits. Only with a `parent`. */
  readonly spanId?: string;
  /** The id of a span of the same trace that this one goes on from. */
  readonly goesOnFrom?: string | undefined;
}

/** A piece of work in a trace. */
export interface TraceSpan {
  /** What a next process continues from; none when tracing is off. */
  readonly parentOfNext: TraceParent | undefined;
  /** For log lines: of the parent when tracing is off, none without one. */
  readonly traceId: string | undefined;
  rename(name: string): void;
  set(attributes: SpanAttributes): void;
  /** `type`: of few kinds, a JSON-RPC code or the like. */
  fail(type: string, message: string): void;
  /** Calls `work` with this span as the active one of `@opentelemetry/api`. */
  readonly within: <Value>(work: () => Value) => Value;
  /** Idempotent. */
  readonly end: () => void;
}

/** Traces of one process. `stop` sends what is left, within 2 s. */
export interface Tracing extends Service {
  /** False: spans are nothing and cost nothing. */
  readonly isOn: boolean;
  startSpan(name: string, options: SpanOptions): TraceSpan;
}

/** The standard variables, as `process.env` has them. */
export type TracingEnvironment = Readonly<Record<string, string | undefined>>;

/** Tracing that is off. */
export const NO_TRACING: Tracing = {
  isOn: false,
  start: () => Promise.resolve(),
  stop: () => Promise.resolve(),
  startSpan: (_name, { parent }) => nothingSince(traceIdOf(parent)),
};

/** The trace id of a `traceparent`. */
export function traceIdOf(parent: TraceParent | undefined): string | undefined {
  return parent?.traceparent.slice(3, 35);
}

/** True when the standard variables ask for traces: an OTLP endpoint, and neither of the two that switch them off. */
export function asksForTraces(env: TracingEnvironment): boolean {
  const endpoint = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] || env["OTEL_EXPORTER_OTLP_ENDPOINT"];
  const isOff = env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" || env["OTEL_TRACES_EXPORTER"] === "none";
  return Boolean(endpoint) && !isOff;
}

/**
 * {@link Tracing} by the standard variables of OpenTelemetry (`OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS`,
 * `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_TRACES_SAMPLER`, `OTEL_BSP_*`, …), sent as OTLP over HTTP in JSON.
 * Without an endpoint it is off, and the SDK is not even loaded.
 */
export async function openTracing(options: {
  readonly role: Role;
  readonly log: Log;
  readonly env: TracingEnvironment;
}): Promise<Tracing> {
  if (!asksForTraces(options.env)) return NO_TRACING;
  const { createSdkTracing } = await import("./sdk-tracing.ts");
  return createSdkTracing(options);
}

const nothing = (): void => {};
const justCall = <Value>(work: () => Value): Value => work();

function nothingSince(traceId: string | undefined): TraceSpan {
  return {
    parentOfNext: undefined,
    traceId,
    rename: nothing,
    set: nothing,
    fail: nothing,
    within: justCall,
    end: nothing,
  };
}
