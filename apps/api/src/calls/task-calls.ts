import { digestOf, isJsonObject, wireErrors } from "@perdure/protocol";
import type { JsonObject, JsonValue } from "@perdure/protocol";
import type { TraceParent } from "@perdure/runtime";
import type { TaskService, TaskSnapshot } from "@perdure/tasks";
import { mintTaskId } from "@perdure/tasks";
import { answersOf } from "../methods/task-methods.ts";
import type { ToolCall } from "../methods/call-tool.ts";
import type { OwnTasks } from "../own-tasks.ts";
import { presentTask } from "../present-task.ts";
import type { Hub } from "../streams/hub.ts";
import { awaitTask } from "./await-task.ts";
import type { Continuations } from "./continuation.ts";
import { inputRequiredText, settled, stoppedError } from "./outcome-text.ts";
import type { OutcomeDeps } from "./outcome-text.ts";
import { progressOf } from "./said-meanwhile.ts";

/** When a tenant that has too many open tasks should try again, in milliseconds. */
const RETRY_OPEN_MS = 5000;

/** Calls that become durable tasks. */
export interface TaskCalls {
  /** Creates the task and gives its handle, a `CreateTaskResult`. */
  create(toolCall: ToolCall, prepared: JsonValue): Promise<string>;
  /** Creates the task for a client that knows no tasks, and waits for it. */
  createAndWait(toolCall: ToolCall, prepared: JsonValue): Promise<string>;
  /** Answers such a task, and waits on. */
  goOn(toolCall: ToolCall, taskId: string, responses: JsonObject): Promise<string>;
}

/** What they stand on. Times in milliseconds. */
export interface TaskCallDeps extends OutcomeDeps {
  readonly tasks: Pick<TaskService, "create">;
  readonly ownTasks: OwnTasks;
  readonly hub: Hub;
  readonly continuations: Continuations;
  readonly taskTtlMs: number;
  readonly pollIntervalMs: number;
  /** Aborted when the replica begins to stop. */
  readonly replicaStopping: AbortSignal;
}

/**
 * {@link TaskCalls}. A client that waits holds no id, so its task ends with its wait: it is cancelled when the client
 * goes away or the deadline passes. It is not when the replica stops: the client is given a state to come back with, and
 * another replica waits on.
 */
export function createTaskCalls(deps: TaskCallDeps): TaskCalls {
  const create = async ({ call, tool, args }: ToolCall, prepared: JsonValue): Promise<TaskSnapshot> => {
    const created = await deps.tasks.create({
      taskId: mintTaskId(),
      owner: call.owner,
      scopes: call.identity.scopes,
      method: call.method,
      params: keptParams(call.params, args, call.trace),
      tool: tool.name,
      capabilities: JSON.stringify(call.meta.capabilities),
      ...(tool.prepare && { prepared: JSON.stringify(prepared) }),
      ttlMs: tool.ttlMs ?? deps.taskTtlMs,
      pollIntervalMs: tool.pollIntervalMs ?? deps.pollIntervalMs,
      ...(call.idempotencyKey !== undefined && {
        idempotency: {
          key: call.idempotencyKey,
          digest: digestOf({ method: call.method, name: tool.name, args }),
        },
      }),
    });
    if (created.verdict === "conflict") {
      throw wireErrors.invalidParams("This Idempotency-Key was used for a call with other arguments");
    }
    if (created.verdict === "limited") {
      const text = `The tenant has ${created.maxOpen} open tasks, as many as it may: let some end first`;
      throw wireErrors.rateLimited(RETRY_OPEN_MS, text);
    }
    call.note({ taskId: created.snapshot.taskId });
    return created.snapshot;
  };

  const wait = async (toolCall: ToolCall, taskId: string): Promise<string> => {
    const { call, scope, subject } = toolCall;
    const comeBack = (inputRequests?: string): string =>
      inputRequiredText(
        deps.results,
        inputRequests,
        deps.continuations.seal(call, subject, { stage: "task", taskId }),
      );
    const awaited = await awaitTask({
      hub: deps.hub,
      owner: call.owner,
      taskId,
      signals: [scope.signal, deps.replicaStopping],
      onMessage: progressOf(call),
    }).catch(async (error: unknown) => {
      // The client is told of an error and holds no id: nobody would ever ask for the task's end.
      await cancelQuietly(deps, toolCall, taskId);
      throw error;
    });
    if (awaited.verdict === "gone") throw isOver();
    if (awaited.verdict === "reached") {
      const { snapshot } = awaited;
      if (snapshot.status === "input_required") return comeBack(snapshot.inputRequests ?? "{}");
      return endOf(deps, toolCall, snapshot);
    }
    if (scope.reason === undefined || scope.reason === "stopping") return comeBack();
    await cancelQuietly(deps, toolCall, taskId);
    throw stoppedError(scope.reason, deps.callTimeoutMs);
  };

  return {
    async create(toolCall, prepared) {
      return deps.results.ofType("task", presentTask(await create(toolCall, prepared)));
    },
    async createAndWait(toolCall, prepared) {
      const { taskId } = await create(toolCall, prepared);
      return wait(toolCall, taskId);
    },
    async goOn(toolCall, taskId, responses) {
      toolCall.call.note({ taskId });
      const reply = await deps.ownTasks.answer(toolCall.call.owner, taskId, answersOf(responses));
      if (reply.verdict !== "accepted") throw isOver();
      return wait(toolCall, taskId);
    },
  };
}

/** The end of a task as the end of the call: its result is the result, its error the error. */
function endOf(deps: TaskCallDeps, toolCall: ToolCall, snapshot: TaskSnapshot): string {
  const { status, result, error, statusMessage } = snapshot;
  if (status === "completed" && result !== undefined) return result;
  if (status === "cancelled") {
    return settled(deps, toolCall, { kind: "cancelled", reason: statusMessage ?? "The task was cancelled" });
  }
  throw wireErrors.application(errorOf(error) ?? { code: -32603, message: "Internal error" });
}

function errorOf(text: string | undefined): { code: number; message: string; data?: JsonValue } | undefined {
  const value: unknown = text === undefined ? undefined : JSON.parse(text);
  if (!isJsonObject(value)) return undefined;
  const { code, message, data } = value;
  if (typeof code !== "number" || typeof message !== "string") return undefined;
  return { code, message, ...(data !== undefined && { data }) };
}

async function cancelQuietly(deps: TaskCallDeps, { call, scope }: ToolCall, taskId: string): Promise<void> {
  const reason =
    scope.reason === "deadline" ? "The client's call took too long" : "The client that waited went away";
  try {
    await deps.ownTasks.cancel(call.owner, taskId, reason);
  } catch (error) {
    deps.log.warn({ taskId, err: error }, "A task that nobody waits for could not be cancelled");
  }
}

function isOver(): Error {
  return wireErrors.invalidParams("The call that this requestState continues is over");
}

/**
 * The request as it came, without what belongs to the rounds before the task. Each hop of a trace puts itself in the place
 * of the one before, so a worker's run goes under this replica's request (W3C Trace Context §3.4).
 */
function keptParams(params: JsonObject, args: JsonObject, trace: TraceParent | undefined): string {
  const { requestState: _state, inputResponses: _responses, ...kept } = params;
  if (!trace || !isJsonObject(kept["_meta"])) return JSON.stringify({ ...kept, arguments: args });
  const { traceparent: _parent, tracestate: _tracestate, ...meta } = kept["_meta"];
  return JSON.stringify({ ...kept, _meta: { ...meta, ...trace }, arguments: args });
}
