import { isTaskId } from "@perdure/tasks";
import type { Answer, AnswerReply, CancelReply, Owner, ReadReply, TaskService } from "@perdure/tasks";

/**
 * The tasks of one caller, by whatever text a client sent as an id. A text that no task can have is looked up all the
 * same, under an id that is never minted: it costs what an unknown id costs, and gets the same answer.
 */
export interface OwnTasks {
  readonly read: (owner: Owner, taskId: string) => Promise<ReadReply>;
  readonly answer: (owner: Owner, taskId: string, answers: readonly Answer[]) => Promise<AnswerReply>;
  /** `reason` becomes the status message. */
  readonly cancel: (owner: Owner, taskId: string, reason: string) => Promise<CancelReply>;
}

/** {@link OwnTasks} on a task service. */
export function createOwnTasks(service: Pick<TaskService, "read" | "answer" | "cancel">): OwnTasks {
  return {
    read: (owner, taskId) => service.read({ owner, taskId: readableId(taskId) }),
    answer: (owner, taskId, answers) => service.answer({ owner, taskId: readableId(taskId) }, answers),
    cancel: (owner, taskId, reason) => service.cancel({ owner, taskId: readableId(taskId) }, reason),
  };
}

/** 24 characters of the proper form. That a task is minted with it is as likely as guessing one (2^-144). */
const NOBODYS_ID = "A".repeat(24);

/** The id itself, or one of proper form that no task has. */
export function readableId(taskId: string): string {
  return isTaskId(taskId) ? taskId : NOBODYS_ID;
}
