import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { bareHost, urlHost } from "./listen-host.ts";
import type { Log } from "./log.ts";
import type { Metrics } from "./metrics.ts";

/** What the ops port tells. */
export interface OpsServerDeps {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  readonly metrics: Metrics;
  /** False when only a restart can help. */
  readonly live: () => boolean;
  /** What keeps the process from serving, each a sentence for an operator; none when it is ready. */
  readonly ready: () => Promise<readonly string[]>;
  readonly log: Log;
}

/** The operators' side of a process: never on the public port. */
export interface OpsServer {
  /** Listens. Rejects when the port is taken. */
  start(): Promise<{ readonly url: string }>;
  /** Stops listening and drops connections. Idempotent. */
  stop(): Promise<void>;
}

const READY_WITHIN_MS = 2500;

/**
 * `/livez` (200 or 503), `/readyz` (200 or 503 with `{ status, problems }`) and `/metrics` (Prometheus text).
 * Simultaneous readiness probes share one check, and a check that takes over 2.5 s is a problem of its own.
 */
export function createOpsServer({ host, port, metrics, live, ready, log }: OpsServerDeps): OpsServer {
  let checking: Promise<readonly string[]> | undefined;
  const check = (): Promise<readonly string[]> => {
    checking ??= problemsOf(ready).finally(() => {
      checking = undefined;
    });
    return checking;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      response.setHeader("allow", "GET, HEAD");
      return send(response, { status: 405, body: "Only GET is served here\n" });
    }
    const path = request.url?.split("?")[0];
    if (path === "/livez") {
      return send(response, live() ? { status: 200, body: "ok\n" } : { status: 503, body: "not alive\n" });
    }
    if (path === "/readyz") {
      const problems = await check();
      const status = problems.length === 0 ? 200 : 503;
      const body = JSON.stringify({ status: status === 200 ? "ready" : "not ready", problems });
      return send(response, { status, body: `${body}\n`, type: "application/json" });
    }
    if (path === "/metrics") {
      return send(response, { status: 200, body: await metrics.render(), type: metrics.contentType });
    }
    return send(response, { status: 404, body: "Here are /livez, /readyz and /metrics\n" });
  };

  const server = createServer({ requestTimeout: 5000, headersTimeout: 5000, keepAliveTimeout: 5000 });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    answer(request, response).catch((error: unknown) => {
      log.error({ err: error }, "An ops request failed");
      response.destroy();
    });
  });

  return {
    async start() {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject);
        server.listen(port, bareHost(host), () => {
          server.off("error", reject);
          resolve();
        });
      });
      const address = server.address();
      const bound = typeof address === "object" && address ? address.port : port;
      return { url: `http://${urlHost(host)}:${bound}` };
    },
    async stop() {
      if (!server.listening) return;
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly type?: string;
}

function send(response: ServerResponse, { status, body, type = "text/plain; charset=utf-8" }: Answer): void {
  response.writeHead(status, { "content-type": type, "cache-control": "no-store" });
  response.end(body);
}

async function problemsOf(ready: () => Promise<readonly string[]>): Promise<readonly string[]> {
  const { promise: late, resolve } = Promise.withResolvers<readonly string[]>();
  const timer = setTimeout(
    () => resolve([`The check took longer than ${READY_WITHIN_MS} ms`]),
    READY_WITHIN_MS,
  );
  try {
    return await Promise.race([ready(), late]);
  } catch (error) {
    return [`The check failed: ${error instanceof Error ? error.message : String(error)}`];
  } finally {
    clearTimeout(timer);
  }
}
