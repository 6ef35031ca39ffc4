import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { bareHost } from "@perdure/runtime";

/** An HTTP server that stops in an orderly way. */
export interface HttpServer {
  /** Listens. Rejects when the address is taken. */
  start(): Promise<{ readonly port: number }>;
  /**
   * Takes no new connection, closes idle ones, waits for responses in hand at most `deadlineMs`, then drops what is left.
   * Idempotent.
   */
  stop(deadlineMs: number): Promise<void>;
  readonly isListening: boolean;
  /** True from the first `stop` on. */
  readonly isStopping: boolean;
}

/** Where it listens, and what it serves. */
export interface HttpServerOptions {
  readonly host: string;
  readonly port: number;
  readonly handle: (request: IncomingMessage, response: ServerResponse) => void;
  /** How long reading may take, in milliseconds. Default 10 s for the headers, 30 s for all of a request. */
  readonly readWithinMs?: { readonly headers: number; readonly request: number };
}

/*
 * Reading a request is bounded. Writing a response is not, because a stream lasts; the stream keeper looks after those.
 * An idle connection is kept a little longer than load balancers keep theirs (60 s is common), so that it is never
 * closed in the moment in which one sends the next request.
 */
const LIMITS = { keepAliveTimeout: 65_000, maxHeaderSize: 32_768 } as const;
const READ_WITHIN_MS = { headers: 10_000, request: 30_000 };

/** What is known of an open connection. */
interface Connection {
  /** To its latest request; none before the first. */
  answer: ServerResponse | undefined;
}

/** An {@link HttpServer} that is not listening yet. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { host, port, handle, readWithinMs = READ_WITHIN_MS } = options;
  const connections = new Map<Socket, Connection>();
  let isStopping = false;

  const limits = {
    ...LIMITS,
    headersTimeout: readWithinMs.headers,
    requestTimeout: readWithinMs.request,
    connectionsCheckingInterval: Math.ceil(readWithinMs.headers / 5),
  };
  const server = createServer(limits, (request, response) => {
    const connection = connections.get(request.socket);
    if (connection) connection.answer = response;
    response.on("close", onAnswered);
    handle(request, response);
  });
  const onAnswered = (): void => {
    // A response that began before the stop has promised to keep its connection: nothing else would close it.
    if (isStopping) setImmediate(() => server.closeIdleConnections());
  };
  server.on("connection", (socket) => {
    connections.set(socket, { answer: undefined });
    socket.once("close", () => connections.delete(socket));
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const answer = connections.get(socket)?.answer;
    const isMidway = answer !== undefined && answer.headersSent && !answer.writableFinished;
    if (!socket.writable || isMidway) socket.destroy();
    else socket.end(refusalText(error.code));
  });

  let stopped: Promise<void> | undefined;
  const stop = async (deadlineMs: number): Promise<void> => {
    if (!server.listening) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    server.close(() => resolve());
    server.closeIdleConnections();
    // For Node a connection without a first request is not idle, and nothing would end it.
    for (const [socket, { answer }] of connections) if (!answer && socket.bytesRead === 0) socket.destroy();
    const timer = setTimeout(() => server.closeAllConnections(), deadlineMs);
    await promise;
    clearTimeout(timer);
  };

  return {
    async start() {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      server.once("error", reject);
      server.listen(port, bareHost(host), () => {
        server.off("error", reject);
        resolve();
      });
      await promise;
      const address = server.address();
      return { port: typeof address === "object" && address ? address.port : port };
    },
    stop(deadlineMs) {
      isStopping = true;
      stopped ??= stop(deadlineMs);
      return stopped;
    },
    get isListening() {
      return server.listening;
    },
    get isStopping() {
      return isStopping;
    },
  };
}

const REFUSALS: ReadonlyMap<string, string> = new Map([
  ["HPE_HEADER_OVERFLOW", "431 Request Header Fields Too Large"],
  ["ERR_HTTP_REQUEST_TIMEOUT", "408 Request Timeout"],
]);

/** For what is no HTTP request at all: no handler has seen it. */
function refusalText(code: string | undefined): string {
  const status = REFUSALS.get(code ?? "") ?? "400 Bad Request";
  return `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`;
}
