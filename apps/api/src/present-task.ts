import type { TaskSnapshot, TaskStatus } from "@perdure/tasks";
import { isoTime } from "./iso-time.ts";

/*
 * The one place where a task takes its shape on the wire (SEP-2663 §Tasks). Everything here is text: what the store keeps
 * as JSON text (`result`, `error`, `inputRequests`) is put in as it is, never parsed and written again, so a number keeps
 * its digits and every replica sends the same bytes.
 *
 * Each function gives the members of an object, without its braces, so that a caller can put its own members before them.
 */

/** The members of `Task`: what `CreateTaskResult` carries beside `resultType` and `_meta`. */
export function presentTask(snapshot: TaskSnapshot): string {
  const message =
    snapshot.statusMessage === undefined ? "" : `"statusMessage":${JSON.stringify(snapshot.statusMessage)},`;
  return (
    `"taskId":${JSON.stringify(snapshot.taskId)},"status":"${snapshot.status}",${message}` +
    `"createdAt":"${isoTime(snapshot.createdAtMs)}","lastUpdatedAt":"${isoTime(snapshot.lastUpdatedAtMs)}",` +
    `"ttlMs":${Math.trunc(snapshot.ttlMs)},"pollIntervalMs":${Math.trunc(snapshot.pollIntervalMs)}`
  );
}

/** The members of `DetailedTask`: what `tasks/get` and `notifications/tasks` carry. */
export function presentDetailedTask(snapshot: TaskSnapshot): string {
  return presentTask(snapshot) + PAYLOADS[snapshot.status](snapshot);
}

const PAYLOADS: Record<TaskStatus, (snapshot: TaskSnapshot) => string> = {
  working: () => "",
  input_required: ({ inputRequests }) => `,"inputRequests":${inputRequests ?? "{}"}`,
  completed: ({ result }) => `,"result":${result ?? "{}"}`,
  failed: ({ error }) => `,"error":${error ?? INTERNAL_ERROR}`,
  cancelled: () => "",
};

const INTERNAL_ERROR = '{"code":-32603,"message":"Internal error"}';
