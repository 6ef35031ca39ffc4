import {
  PARAMS,
  TASKS_REQUIRED,
  checkParamHeaders,
  hasTasksExtension,
  isJsonObject,
  ownMember,
  parseParams,
  wireErrors,
} from "@perdure/protocol";
import type { JsonObject, JsonValue } from "@perdure/protocol";
import { mintTaskId } from "@perdure/tasks";
import { prepareTool } from "@perdure/toolkit/host";
import type { Catalog, Tool } from "@perdure/toolkit/host";
import { noteRequests, openJournal, takeAnswers } from "../calls/call-journal.ts";
import type { CallScope, CallScopes } from "../calls/call-scope.ts";
import type { Continuation, Continuations } from "../calls/continuation.ts";
import { inputRequired, settled } from "../calls/outcome-text.ts";
import type { OutcomeDeps } from "../calls/outcome-text.ts";
import { runInReplica } from "../calls/run-in-replica.ts";
import { logOf, progressOf } from "../calls/said-meanwhile.ts";
import type { TaskCalls } from "../calls/task-calls.ts";
import type { Call, Method } from "./method.ts";

/** What calling a tool stands on. */
export interface CallToolDeps extends OutcomeDeps {
  readonly catalog: Catalog;
  readonly continuations: Continuations;
  readonly taskCalls: TaskCalls;
  readonly nowMs: () => number;
  readonly scopes: CallScopes;
}

/** One `tools/call`. */
export interface ToolCall {
  readonly call: Call;
  readonly tool: Tool;
  readonly args: JsonObject;
  readonly scope: CallScope;
  /** What a continuation is bound to. */
  readonly subject: JsonObject;
}

/**
 * `tools/call`.
 *
 *     arguments ─► prepare (may ask) ─► "forbidden": runs here (may ask)
 *                                   └─► "optional", "required": a durable task
 *                                          ├─ client with the extension: its handle
 *                                          └─ client without: waits for its result (may ask)
 *
 * Arguments that the schema refuses are a tool execution error, `isError: true`, as MCP tools §Error Handling has it: a
 * model can read it and try again. An unknown tool and a malformed request are protocol errors.
 */
export function createCallTool(deps: CallToolDeps): Method {
  const toolOf = (params: JsonObject): Tool | undefined => {
    const name = ownMember(params, "name");
    return typeof name === "string" ? deps.catalog.tools.get(name) : undefined;
  };
  return {
    checkHeaders(readHeader, params) {
      const args = ownMember(params, "arguments");
      checkParamHeaders(readHeader, toolOf(params)?.headerParams ?? [], isJsonObject(args) ? args : {});
    },
    requiredCapabilities(params) {
      const tool = toolOf(params);
      const needs = Object.fromEntries((tool?.needs ?? []).map((need) => [need, {}]));
      return tool?.taskSupport === "required" ? { ...needs, ...TASKS_REQUIRED } : needs;
    },
    requiredScopes: (params) => toolOf(params)?.scopes ?? [],
    async serve(call) {
      const params = parseParams(PARAMS["tools/call"], call.params);
      const tool = deps.catalog.tools.get(params.name);
      if (!tool) throw wireErrors.invalidParams(`Unknown tool: ${params.name.slice(0, 128)}`);
      call.note({ tool: tool.name });
      const args = params.arguments ?? {};
      const subject = { name: tool.name, arguments: args };
      const continuation = deps.continuations.open(call, subject, params.requestState);
      if (continuation.stage !== "task") takeAnswers(continuation.journal, params.inputResponses);
      const parsed = tool.parseInput(args);
      if (!parsed.ok) return deps.results.completeObject(errorResult(`Invalid arguments: ${parsed.problem}`));

      const scope = deps.scopes.open(call);
      try {
        const toolCall = { call, tool, args, scope, subject };
        if (continuation.stage === "task") {
          return await deps.taskCalls.goOn(toolCall, continuation.taskId, params.inputResponses ?? {});
        }
        return await begin(deps, toolCall, continuation);
      } finally {
        scope.close();
      }
    },
  };
}

async function begin(
  deps: CallToolDeps,
  toolCall: ToolCall,
  continuation: Exclude<Continuation, { stage: "task" }>,
): Promise<string> {
  const { call, tool, args, scope, subject } = toolCall;
  let run = continuation;
  if (run.stage === "prepare") {
    const prepared = await prepare(toolCall, run);
    if (prepared.kind === "waiting") {
      noteRequests(run.journal, prepared.requests);
      return inputRequired(deps, prepared.requests, deps.continuations.seal(call, subject, run));
    }
    if (prepared.kind !== "prepared") return settled(deps, toolCall, prepared);
    const journal = openJournal();
    for (const [key, answer] of run.journal.answers) journal.answers.set(key, answer);
    run = { stage: "run", callId: mintTaskId(), prepared: prepared.value, journal };
  }
  if (tool.taskSupport !== "forbidden") {
    const handle = hasTasksExtension(call.meta.capabilities);
    return handle
      ? deps.taskCalls.create(toolCall, run.prepared)
      : deps.taskCalls.createAndWait(toolCall, run.prepared);
  }
  const outcome = await runInReplica({
    tool,
    args,
    call,
    callId: run.callId,
    prepared: run.prepared,
    journal: run.journal,
    signal: scope.signal,
    nowMs: deps.nowMs,
    sayProgress: progressOf(call),
    sayLog: logOf(call, tool.name),
  });
  if (outcome.kind !== "waiting") return settled(deps, toolCall, outcome);
  noteRequests(run.journal, outcome.requests);
  return inputRequired(deps, outcome.requests, deps.continuations.seal(call, subject, run));
}

type Prepared = Awaited<ReturnType<typeof prepareTool>>;

async function prepare(
  { call, tool, args, scope }: ToolCall,
  { journal }: Extract<Continuation, { stage: "prepare" }>,
): Promise<Prepared> {
  if (!tool.prepare) return { kind: "prepared", value: null };
  const { tenant, principal, scopes } = call.identity;
  return prepareTool(tool, args, {
    caller: { tenant, principal, scopes },
    signal: scope.signal,
    capabilities: call.meta.capabilities,
    journal,
    log: logOf(call, tool.name),
  });
}

/** A tool execution error that a model can read. */
export function errorResult(text: string): { readonly [key: string]: JsonValue } {
  return { content: [{ type: "text", text }], isError: true };
}
