import { TaskStoreError } from "@perdure/tasks";
import type { RedisClient } from "./connections.ts";
import { gatherWrites } from "./gather-writes.ts";
import { toStoreError } from "./store-errors.ts";

/** A connection as the adapters use it: nobody waits on it longer than its time limit. */
export interface CommandLink {
  /**
   * Waits for the connection, lets `send` use it, and gives what it gave, all within the time limit, or within `limitMs`
   * where that is shorter. Throws `TaskStoreError`: `store_unavailable` when nothing was sent, `store_unknown_outcome` when no answer came,
   * `store_full` or `store_readonly` as Redis said. Other errors go through.
   */
  call<Reply>(send: (redis: RedisClient) => Promise<Reply>, limitMs?: number): Promise<Reply>;
}

/** What a step waits for a connection that has been down longer than a whole time limit: an outage is answered fast. */
const OUTAGE_WAIT_MS = 250;

/** A {@link CommandLink} on a connection that does not queue while it is down. */
export function createCommandLink(redis: RedisClient, timeoutMs: number): CommandLink {
  const waiting = new Set<() => void>();
  let lastError: Error | undefined;
  let lostAt: number | undefined;
  redis.on("close", () => {
    lostAt ??= performance.now();
  });
  redis.on("error", (error: Error) => {
    lastError = error;
  });
  redis.on("ready", () => {
    lastError = undefined;
    lostAt = undefined;
    for (const proceed of waiting) proceed();
    waiting.clear();
  });

  const isOutage = (): boolean => lostAt !== undefined && performance.now() - lostAt > timeoutMs;

  /** Each poll of each client comes through here: one promise, and no race of several. */
  const sendWithin = <Reply>(send: (redis: RedisClient) => Promise<Reply>, waitMs: number): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(unanswered(waitMs)), waitMs);
      const succeed = (reply: Reply): void => {
        clearTimeout(timer);
        resolve(reply);
      };
      const fail = (error: unknown): void => {
        clearTimeout(timer);
        reject(toStoreError(error));
      };
      try {
        gatherWrites(redis);
        send(redis).then(succeed, fail);
      } catch (error) {
        fail(error);
      }
    });

  /** A waiter that gives up leaves nothing behind: an outage costs no memory, and nothing is sent after it. */
  const readyWithin = (waitMs: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(proceed);
        reject(unavailable("Redis cannot be reached", lastError));
      }, waitMs);
      const proceed = (): void => {
        clearTimeout(timer);
        resolve();
      };
      waiting.add(proceed);
    });

  const sendWhenReady = async <Reply>(
    send: (redis: RedisClient) => Promise<Reply>,
    waitMs: number,
  ): Promise<Reply> => {
    if (redis.status === "wait" || redis.status === "end")
      throw unavailable("There is no connection to Redis");
    const endMs = performance.now() + waitMs;
    await readyWithin(isOutage() ? Math.min(waitMs, OUTAGE_WAIT_MS) : waitMs);
    return sendWithin(send, Math.max(0, endMs - performance.now()));
  };

  return {
    call(send, limitMs = timeoutMs) {
      const waitMs = Math.min(limitMs, timeoutMs);
      return redis.status === "ready" ? sendWithin(send, waitMs) : sendWhenReady(send, waitMs);
    },
  };
}

function unavailable(message: string, cause?: Error): TaskStoreError {
  const detail = cause === undefined ? message : `${message}: ${cause.message}`;
  return new TaskStoreError("store_unavailable", detail, { cause });
}

function unanswered(timeoutMs: number): TaskStoreError {
  return new TaskStoreError(
    "store_unknown_outcome",
    `Redis did not answer within ${Math.round(timeoutMs)} ms`,
  );
}
