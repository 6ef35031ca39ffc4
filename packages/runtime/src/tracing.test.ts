import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { createLog } from "./log.ts";
import { NO_TRACING, asksForTraces, openTracing } from "./tracing.ts";

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" };
const log = createLog({ level: "silent", role: "api" });

const loaded = (): readonly string[] =>
  Object.keys(createRequire(import.meta.url).cache).filter((file) => file.includes("@opentelemetry/sdk"));

test.each([
  [{}, false],
  [ENDPOINT, true],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://127.0.0.1:1/v1/traces" }, true],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: "" }, false],
  [{ ...ENDPOINT, OTEL_SDK_DISABLED: "true" }, false],
  [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: "none" }, false],
])("with %j traces are wanted: %s", (env, isWanted) => {
  expect(asksForTraces(env)).toBe(isWanted);
});

test("without an endpoint the SDK is not loaded, and a span is nothing but its parent's trace id", async () => {
  const tracing = await openTracing({ role: "api", log, env: {} });
  expect(tracing).toBe(NO_TRACING);
  expect(loaded()).toEqual([]);
  const parent = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01" };
  const span = tracing.startSpan("work", { kind: "server", parent, attributes: {} });
  expect(span).toMatchObject({ parentOfNext: undefined, traceId: "0af7651916cd43dd8448eb211c80319c" });
  expect(span.within(() => 7)).toBe(7);
});

test("with an endpoint it is, and a collector that is away costs a stop no more than its two seconds", async () => {
  const tracing = await openTracing({ role: "api", log, env: ENDPOINT });
  expect(loaded()).not.toEqual([]);
  tracing.startSpan("work", { kind: "server", attributes: {} }).end();
  const startedMs = performance.now();
  await tracing.stop();
  expect(performance.now() - startedMs).toBeLessThan(3000);
});
