import { once } from "node:events";
import { createServer } from "node:http";
import { z } from "zod";

/** A span as OTLP has it in JSON. */
export interface SeenSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly string[];
  readonly isError: boolean;
}

/** An OTLP/HTTP collector that keeps what it is sent. */
export interface Collector extends AsyncDisposable {
  readonly url: string;
  /** Everything that was sent, as it came. */
  readonly bodies: readonly string[];
  readonly spans: readonly SeenSpan[];
}

const attributes = z
  .array(
    z.object({
      key: z.string(),
      value: z.object({ stringValue: z.string().optional(), intValue: z.number().optional() }),
    }),
  )
  .transform((list) =>
    Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue ?? value.intValue])),
  );

const exported = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              name: z.string(),
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              kind: z.number(),
              attributes,
              links: z.array(z.object({ spanId: z.string() })).default([]),
              status: z.object({ code: z.number().optional() }).optional(),
            }),
          ),
        }),
      ),
    }),
  ),
});

/** Starts a {@link Collector} on a free port. */
export async function startCollector(): Promise<Collector> {
  const bodies: string[] = [];
  const spans: SeenSpan[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8");
      bodies.push(body);
      for (const { resource, scopeSpans } of exported.parse(JSON.parse(body)).resourceSpans)
        for (const span of scopeSpans.flatMap((scope) => scope.spans))
          spans.push({
            ...span,
            service: String(resource.attributes["service.name"]),
            parentSpanId: span.parentSpanId,
            links: span.links.map(({ spanId }) => spanId),
            isError: span.status?.code === 2,
          });
      response.setHeader("content-type", "application/json");
      response.end("{}");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    bodies,
    spans,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
