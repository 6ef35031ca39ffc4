import { hash } from "node:crypto";
import type { TraceSpan, Tracing } from "@perdure/runtime";
import type { ClaimedTask } from "@perdure/tasks";
import type { RunOutcome } from "@perdure/toolkit/host";
import { traceParentOf } from "./stored-call.ts";

/** One run of a task as a span, by the semantic conventions for the execution of tools. */
export interface RunSpan extends Pick<TraceSpan, "within" | "end"> {
  /** For the run's log lines. */
  readonly ids: Readonly<Record<string, string>>;
  /** Tells how the run ended: `completed`, `failed`, `waiting`, `retry`, … */
  ended(outcome: RunOutcome): void;
}

/**
 * Begins the span of a run, in the trace that the record's `_meta.traceparent` names: under the request that made the task.
 * Each run after the first links to the one before it, also to that of a worker which died and told nobody: a run's span
 * id is made from the task and the epoch, so nothing more need be kept. No argument, result or tenant gets in.
 */
export function startRunSpan(tracing: Tracing, { claim, tool, attempt, params }: ClaimedTask): RunSpan {
  const { epoch, ref } = claim;
  const { taskId } = ref;
  const span = tracing.startSpan(`execute_tool ${tool}`, {
    kind: "consumer",
    parent: traceParentOf(params),
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": tool,
      "perdure.task.id": taskId,
      "perdure.task.epoch": epoch,
      "perdure.task.attempt": attempt,
    },
    ...(tracing.isOn && {
      spanId: runSpanId(taskId, epoch),
      goesOnFrom: epoch > 1 ? runSpanId(taskId, epoch - 1) : undefined,
    }),
  });
  return {
    ids: span.traceId === undefined ? {} : { trace_id: span.traceId },
    within: span.within,
    end: span.end,
    ended(outcome) {
      span.set({ "perdure.run.outcome": outcome.kind });
      if (outcome.kind === "failed") span.fail(String(outcome.error.code), outcome.error.message);
      if (outcome.kind === "retry") span.fail("retry", outcome.message);
    },
  };
}

/** The span id of a run: 16 hex digits. */
export function runSpanId(taskId: string, epoch: number): string {
  return hash("sha256", `${taskId}:${epoch}`, "hex").slice(0, 16);
}
