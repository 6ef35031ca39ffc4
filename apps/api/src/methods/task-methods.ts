import { PARAMS, TASKS_REQUIRED, assertInputResponse, parseParams, wireErrors } from "@perdure/protocol";
import type { JsonObject, WireError } from "@perdure/protocol";
import type { Absent, Answer } from "@perdure/tasks";
import { isTaskId, isTerminal } from "@perdure/tasks";
import type { OwnTasks } from "../own-tasks.ts";
import { presentDetailedTask } from "../present-task.ts";
import type { PollPacer } from "./poll-pacer.ts";
import type { ResultText } from "../result-text.ts";
import type { Call, Method } from "./method.ts";

/** What the task methods stand on. */
export interface TaskMethodDeps {
  readonly ownTasks: OwnTasks;
  readonly results: ResultText;
  readonly pacer: PollPacer;
}

/** `tasks/get`, `tasks/update` and `tasks/cancel` (SEP-2663). There is no other: `tasks/list` and `tasks/result` are unknown. */
export function createTaskMethods({ ownTasks, results, pacer }: TaskMethodDeps): ReadonlyMap<string, Method> {
  const acknowledged = results.complete("");
  return new Map([
    [
      "tasks/get",
      method(async (call) => {
        const { taskId } = parseParams(PARAMS["tasks/get"], call.params);
        noteTask(call, taskId);
        const reply = await ownTasks.read(call.owner, taskId);
        if (reply.verdict !== "found") throw absent(reply);
        const { status, pollIntervalMs: asked } = reply.snapshot;
        // A task that has ended is read as it is: nobody polls it for long, and its bytes never change.
        if (isTerminal(status)) return results.complete(presentDetailedTask(reply.snapshot));
        const paced = pacer.pace({ owner: call.owner, taskId, pollIntervalMs: asked });
        if (paced.verdict === "refused")
          throw wireErrors.rateLimited(paced.retryAfterMs, "This task is polled too fast");
        return results.complete(
          presentDetailedTask({ ...reply.snapshot, pollIntervalMs: paced.pollIntervalMs }),
        );
      }),
    ],
    [
      "tasks/update",
      method(async (call) => {
        const { taskId, inputResponses } = parseParams(PARAMS["tasks/update"], call.params);
        noteTask(call, taskId);
        const reply = await ownTasks.answer(call.owner, taskId, answersOf(inputResponses));
        if (reply.verdict !== "accepted") throw absent(reply);
        return acknowledged;
      }),
    ],
    [
      "tasks/cancel",
      method(async (call) => {
        const { taskId } = parseParams(PARAMS["tasks/cancel"], call.params);
        noteTask(call, taskId);
        const reply = await ownTasks.cancel(call.owner, taskId, "Cancelled by the client");
        if (reply.verdict === "unknown" || reply.verdict === "expired") throw absent(reply);
        return acknowledged;
      }),
    ],
  ]);
}

function method(serve: Method["serve"]): Method {
  return { requiredCapabilities: () => TASKS_REQUIRED, serve };
}

/**
 * Responses as they go to the store. Each must be an object; what kind, the tool's run decides, because the store tells
 * the edge no request in the same step. Keys that are not outstanding are the store's to ignore.
 */
export function answersOf(inputResponses: JsonObject): readonly Answer[] {
  return Object.entries(inputResponses).map(([key, response]) => {
    assertInputResponse({ key, method: "", response });
    return { key, response: JSON.stringify(response) };
  });
}

/** One answer for an id that is unknown, malformed or another's; only an owner is told that its task has expired. */
export function absent({ verdict }: Absent): WireError {
  return wireErrors.invalidParams(verdict === "expired" ? "Task has expired" : "Task not found");
}

function noteTask(call: Call, taskId: string): void {
  if (isTaskId(taskId)) call.note({ taskId });
}
