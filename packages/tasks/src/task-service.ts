import type {
  Answer,
  AnswerReply,
  CancelReply,
  CreateReply,
  ReadReply,
  TaskStore,
  WakeUps,
} from "./ports.ts";
import type { NewTask, TaskAddress, WakeUp } from "./record.ts";

/** What a replica does with tasks on behalf of a client. */
export interface TaskService {
  /** Resolves once the task is durable by the store's class. A worker is woken, but not waited for. */
  create(task: NewTask): Promise<CreateReply>;
  read(address: TaskAddress): Promise<ReadReply>;
  /** Resolves once the answers are durable. Wakes a worker when they made the task runnable. */
  answer(address: TaskAddress, answers: readonly Answer[]): Promise<AnswerReply>;
  cancel(address: TaskAddress, reason: string): Promise<CancelReply>;
}

/** The ports that a service stands on. */
export interface TaskServiceDeps {
  readonly store: TaskStore;
  readonly wakeUps: WakeUps;
  /** Told of a wake-up that could not be sent. Nothing is lost: the reconciler sends it again. */
  readonly onUnsentWakeUp: (wakeUp: WakeUp, error: unknown) => void;
}

/** A {@link TaskService} on the given ports. It holds no state and starts nothing. */
export function createTaskService({ store, wakeUps, onUnsentWakeUp }: TaskServiceDeps): TaskService {
  const wake = (wakeUp: WakeUp): void => {
    wakeUps.send(wakeUp).catch((error: unknown) => onUnsentWakeUp(wakeUp, error));
  };

  return {
    async create(task) {
      const created = await store.create(task);
      if (created.verdict === "created") wake(created.wakeUp);
      return created;
    },
    read: (address) => store.read(address),
    async answer(address, answers) {
      const reply = await store.answer(address, answers);
      if (reply.verdict === "accepted" && reply.wakeUp) wake(reply.wakeUp);
      return reply;
    },
    cancel: (address, reason) => store.cancel(address, reason),
  };
}
