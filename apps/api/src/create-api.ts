import { urlHost } from "@perdure/runtime";
import type { ApiDeps } from "./api-deps.ts";
import { createCallScopes } from "./calls/call-scope.ts";
import { createContinuations } from "./calls/continuation.ts";
import { createTaskCalls } from "./calls/task-calls.ts";
import { createEndpoint } from "./edge/endpoint.ts";
import { createHttpServer } from "./edge/http-server.ts";
import { createOtherPaths } from "./edge/other-paths.ts";
import { createPollPacer } from "./methods/poll-pacer.ts";
import { createMethods } from "./methods/method-table.ts";
import { createOwnTasks } from "./own-tasks.ts";
import { createResultText } from "./result-text.ts";
import { createHub } from "./streams/hub.ts";
import { createStreamKeeper } from "./streams/stream-keeper.ts";

/** What a replica holds now. All zero when no request is in hand. */
export interface ApiCounts {
  readonly tenants: number;
  readonly tasks: number;
  readonly watchers: number;
  readonly streams: number;
  readonly calls: number;
}

/** A replica. */
export interface Api {
  /** Listens. `url` is that of the MCP endpoint. Rejects when the address is taken. */
  start(): Promise<{ readonly url: string }>;
  /** Serves on, but every answer from now on closes its connection: load balancers and clients turn to another replica. */
  leave(): void;
  /**
   * Takes no new connection, ends listen streams with a result, hands waiting calls on to another replica, waits for
   * requests in hand at most `limits.drainMs`, then drops what is left. Idempotent.
   */
  stop(): Promise<void>;
  readonly isListening: boolean;
  counts(): ApiCounts;
}

const MCP_PATH = "/mcp";
/** A client that reads nothing for so many keep-alive times is dropped. */
const STALLED_KEEP_ALIVES = 4;
/** The share of the drain time after which calls that run here are stopped, so that their clients still hear of it. */
const CALLS_DRAIN_SHARE = 0.8;
const DEFAULTS = { maxListens: 20_000, maxCalls: 2_000, pageSize: 100 } as const;

/** A replica on the given ports. Nothing happens before `start`; two of them do not know of each other. */
export function createApi(deps: ApiDeps): Api {
  const { server, catalog, clock, log, metrics } = deps;
  const limits = { ...DEFAULTS, ...deps.limits };
  let isLeaving = false;
  const results = createResultText(server);
  const ownTasks = createOwnTasks(deps.tasks);
  const hub = createHub({
    read: ownTasks.read,
    hints: deps.hints,
    resyncMs: limits.resyncMs,
    nowMs: clock.monotonicMs,
    onReadError: (error) => log.warn({ err: error }, "A watched task could not be read; it is read again"),
  });
  const keeper = createStreamKeeper({
    keepAliveMs: limits.keepAliveMs,
    stallMs: limits.keepAliveMs * STALLED_KEEP_ALIVES,
    nowMs: clock.monotonicMs,
  });
  const continuations = createContinuations(deps.seal, limits.taskTtlMs);
  const waitsMustEnd = new AbortController();
  const callsMustEnd = new AbortController();
  const scopes = createCallScopes({
    timeoutMs: limits.callTimeoutMs,
    maxCalls: limits.maxCalls,
    streamAfterMs: limits.keepAliveMs,
    stopping: callsMustEnd.signal,
    keeper,
  });
  const outcomes = {
    results,
    maxResultBytes: limits.maxResultBytes,
    callTimeoutMs: limits.callTimeoutMs,
    log,
  };
  const methods = createMethods({
    ...outcomes,
    catalog,
    continuations,
    ownTasks,
    pacer: createPollPacer(clock.monotonicMs),
    hub,
    keeper,
    clock,
    instructions: server.instructions,
    pageSize: limits.pageSize,
    maxAgeMs: limits.listenMaxAgeMs,
    maxListens: limits.maxListens,
    nowMs: clock.wallMs,
    scopes,
    metrics,
    taskCalls: createTaskCalls({
      ...outcomes,
      tasks: deps.tasks,
      ownTasks,
      hub,
      continuations,
      taskTtlMs: limits.taskTtlMs,
      pollIntervalMs: limits.pollIntervalMs,
      replicaStopping: waitsMustEnd.signal,
    }),
  });
  const endpoint = createEndpoint({
    methods,
    originGuard: deps.originGuard,
    verifier: deps.verifier,
    rates: deps.rates,
    maxBodyBytes: limits.maxBodyBytes,
    clock,
    log,
    metrics,
    tracing: deps.tracing,
    isStopping: () => isLeaving || http.isStopping,
  });
  const otherPaths = createOtherPaths({
    resourceMetadata: server.resourceMetadata,
    originGuard: deps.originGuard,
  });
  const http = createHttpServer({
    host: server.host,
    port: server.port,
    handle(request, response) {
      if (request.url?.split("?", 1)[0] === MCP_PATH) void endpoint(request, response);
      else otherPaths(request, response);
    },
  });

  return {
    async start() {
      hub.start();
      const { port } = await http.start();
      return { url: `http://${urlHost(server.host)}:${port}${MCP_PATH}` };
    },
    leave() {
      isLeaving = true;
    },
    async stop() {
      const closed = http.stop(limits.drainMs);
      keeper.endAll();
      waitsMustEnd.abort();
      const timer = setTimeout(() => callsMustEnd.abort(), limits.drainMs * CALLS_DRAIN_SHARE);
      await closed;
      clearTimeout(timer);
      hub.stop();
    },
    get isListening() {
      return http.isListening && !http.isStopping;
    },
    counts: () => ({ ...hub.counts(), streams: keeper.count, calls: scopes.count }),
  };
}
