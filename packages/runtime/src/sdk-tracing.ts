import {
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  context,
  diag,
  propagation,
  trace,
} from "@opentelemetry/api";
import type { Context, Span } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, NodeTracerProvider, RandomIdGenerator } from "@opentelemetry/sdk-trace-node";
import type { Log } from "./log.ts";
import { reportTrouble } from "./report-trouble.ts";
import type { SpanOptions, TraceParent, TraceSpan, Tracing, TracingEnvironment } from "./tracing.ts";
import type { Role } from "./variables.ts";
import { VERSION } from "./version.ts";

/*
 * The one file that knows the OpenTelemetry SDK. It is loaded when traces are asked for, and never else.
 */

const STOP_MS = 2000;
const KIND = { server: SpanKind.SERVER, consumer: SpanKind.CONSUMER } as const;

/** Tracing with the official SDK, which reads the standard variables itself. Trouble with the collector is logged, and harms nothing. */
export function createSdkTracing({
  role,
  log,
  env,
}: {
  readonly role: Role;
  readonly log: Log;
  readonly env: TracingEnvironment;
}): Tracing {
  const report = reportTrouble(log, "Trouble with traces");
  const say = (text: string): void => report(new Error(text));
  diag.setLogger({ error: say, warn: say, info() {}, debug() {}, verbose() {} }, DiagLogLevel.WARN);
  if (env["OTEL_EXPORTER_OTLP_PROTOCOL"] === "grpc")
    log.warn(
      {},
      "Traces are sent as OTLP over HTTP, not gRPC: give the collector's HTTP endpoint (port 4318)",
    );

  const random = new RandomIdGenerator();
  /** Taken by the next span: the SDK has no other way to say it. */
  let plannedId: string | undefined;
  const own = { "service.name": `perdure-${role}`, "service.version": VERSION, "perdure.role": role };
  const provider = new NodeTracerProvider({
    idGenerator: {
      generateTraceId: () => random.generateTraceId(),
      generateSpanId: () => plannedId ?? random.generateSpanId(),
    },
    resource: defaultResource()
      .merge(resourceFromAttributes(own))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  });
  // So that a tool which uses `@opentelemetry/api` has its spans under ours.
  provider.register();
  const tracer = provider.getTracer("perdure", VERSION);
  let stopped: Promise<void> | undefined;

  return {
    isOn: true,
    start: () => Promise.resolve(),
    stop: () => (stopped ??= shutdown(provider, report)),
    startSpan(name, options) {
      const above = options.parent ? propagation.extract(ROOT_CONTEXT, options.parent) : ROOT_CONTEXT;
      plannedId = trace.getSpanContext(above) && options.spanId;
      const span = tracer.startSpan(name, toSdk(options, above), above);
      plannedId = undefined;
      return wrap(span, trace.setSpan(above, span));
    },
  };
}

function toSdk({ kind, attributes, goesOnFrom }: SpanOptions, above: Context) {
  const before = trace.getSpanContext(above);
  const links = before && goesOnFrom ? [{ context: { ...before, spanId: goesOnFrom } }] : [];
  return { kind: KIND[kind], attributes: { ...attributes }, links };
}

function wrap(span: Span, here: Context): TraceSpan {
  const carrier: { traceparent?: string; tracestate?: string } = {};
  propagation.inject(here, carrier);
  return {
    parentOfNext: toParent(carrier),
    traceId: span.spanContext().traceId,
    rename: (name) => void span.updateName(name),
    set: (attributes) => void span.setAttributes({ ...attributes }),
    fail(type, message) {
      span.setAttribute("error.type", type);
      span.setStatus({ code: SpanStatusCode.ERROR, message });
    },
    within: (work) => context.with(here, work),
    end: () => {
      if (span.isRecording()) span.end();
    },
  };
}

function toParent({
  traceparent,
  tracestate,
}: {
  traceparent?: string;
  tracestate?: string;
}): TraceParent | undefined {
  if (traceparent === undefined) return undefined;
  return { traceparent, ...(tracestate !== undefined && { tracestate }) };
}

async function shutdown(provider: NodeTracerProvider, report: (error: Error) => void): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, STOP_MS);
  const sent = provider
    .shutdown()
    .catch((error: unknown) => report(new Error("The last traces were not sent", { cause: error })));
  await Promise.race([sent, late]);
  clearTimeout(timer);
}
