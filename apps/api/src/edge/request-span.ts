import type { RequestMeta, WireError } from "@perdure/protocol";
import { traceIdOf } from "@perdure/runtime";
import type { TraceParent, Tracing } from "@perdure/runtime";

/** One request as a span, by the semantic conventions for MCP. */
export interface RequestSpan {
  /** What a task made by the request continues from; none when tracing is off. */
  readonly trace: TraceParent | undefined;
  /** For the request's log line. */
  readonly ids: Readonly<Record<string, string>>;
  /** Tells what the request turned out to be about. */
  readonly note: (fields: Readonly<Record<string, string>>) => void;
  /** Does the request's work, and ends the span with it. */
  run<Value>(work: () => Promise<Value>): Promise<Value>;
}

/** What is known when the span begins. */
export interface AskedSpan {
  /** A known method, or `"other"`. */
  readonly method: string;
  readonly id: string | number;
  readonly meta: RequestMeta;
}

/** Begins a {@link RequestSpan} under the client's `_meta.traceparent`. No argument, token or tenant gets in. */
export function startRequestSpan(
  tracing: Tracing,
  { method, id, meta }: AskedSpan,
  wireErrorOf: (error: unknown) => WireError,
): RequestSpan {
  const { traceparent, tracestate } = meta;
  const parent =
    traceparent === undefined ? undefined : { traceparent, ...(tracestate !== undefined && { tracestate }) };
  if (!tracing.isOn) return spanOfNobody(traceIdOf(parent));
  const span = tracing.startSpan(method, {
    kind: "server",
    parent,
    attributes: {
      "mcp.method.name": method,
      "mcp.protocol.version": meta.protocolVersion,
      "jsonrpc.request.id": String(id),
      "network.transport": "tcp",
      "network.protocol.name": "http",
    },
  });
  return {
    trace: span.parentOfNext,
    ids: idsOf(span.traceId),
    note({ tool, taskId }) {
      if (tool !== undefined) {
        span.rename(`${method} ${tool}`);
        span.set({ "gen_ai.tool.name": tool, "gen_ai.operation.name": "execute_tool" });
      }
      if (taskId !== undefined) span.set({ "perdure.task.id": taskId });
    },
    async run(work) {
      try {
        return await span.within(work);
      } catch (error) {
        const { rpcCode, message } = wireErrorOf(error);
        span.set({ "rpc.response.status_code": String(rpcCode) });
        span.fail(String(rpcCode), message);
        throw error;
      } finally {
        span.end();
      }
    },
  };
}

/** While tracing is off, log lines still say which of the client's traces they belong to. */
function spanOfNobody(traceId: string | undefined): RequestSpan {
  return { trace: undefined, ids: idsOf(traceId), note: nothing, run: (work) => work() };
}

function nothing(): void {}

function idsOf(traceId: string | undefined): RequestSpan["ids"] {
  return traceId === undefined ? NO_IDS : { trace_id: traceId };
}

const NO_IDS = {};
