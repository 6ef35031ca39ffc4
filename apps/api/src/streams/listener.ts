import { META, notificationText, resultText } from "@perdure/protocol";
import type { RequestId } from "@perdure/protocol";
import type { ReadReply, TaskSnapshot } from "@perdure/tasks";
import { presentDetailedTask } from "../present-task.ts";
import type { ResultText } from "../result-text.ts";
import type { FoundTask } from "./hub.ts";
import type { SseStream } from "./sse-stream.ts";

/**
 * What one `subscriptions/listen` stream has told its client, and what it owes.
 *
 *     snapshot ─► newer than what was sent? ─► client takes it? ─► send
 *                                                  │ no
 *                                                  └─► owed: the id alone ─► (drain, tick) read again ─► send
 *
 * A slow client costs an id for each task that has changed, never a snapshot; and gets the latest, never a backlog.
 */
export interface Listener {
  /** Sends the acknowledgement, with the ids in their order, and then the snapshot of each. */
  open(stream: SseStream, found: readonly FoundTask[]): void;
  /** A snapshot was read. Before `open`, only its version is kept. */
  readonly offer: (snapshot: TaskSnapshot) => void;
  /** Reads and sends what is owed, as far as the client takes it. */
  readonly catchUp: () => void;
  /** Ends the stream with the JSON-RPC result of the listen request (MCP subscriptions §Graceful Closure). */
  readonly end: () => void;
}

/** What a listener is made of. */
export interface ListenerDeps {
  /** The listen request's id: a number stays a number. */
  readonly subscriptionId: RequestId;
  readonly results: ResultText;
  readonly read: (taskId: string) => Promise<ReadReply>;
  /** Told of each change that was sent; not of what was there when the stream began. */
  readonly onNews: (snapshot: TaskSnapshot) => void;
}

/** A {@link Listener}. */
export function createListener({ subscriptionId, results, read, onNews }: ListenerDeps): Listener {
  const tag = `"${META.subscriptionId}":${JSON.stringify(subscriptionId)}`;
  const sent = new Map<string, number>();
  const early = new Map<string, number>();
  const owed = new Set<string>();
  let stream: SseStream | undefined;
  let isCatchingUp = false;

  const send = (to: SseStream, snapshot: TaskSnapshot): void => {
    sent.set(snapshot.taskId, snapshot.ver);
    owed.delete(snapshot.taskId);
    to.send(notificationText("notifications/tasks", `{"_meta":{${tag}},${presentDetailedTask(snapshot)}}`));
  };

  const offer = (snapshot: TaskSnapshot): void => {
    if (!stream) {
      early.set(snapshot.taskId, snapshot.ver);
      return;
    }
    if (stream.isClosed || snapshot.ver <= (sent.get(snapshot.taskId) ?? -1)) return;
    if (!stream.isWritable) {
      owed.add(snapshot.taskId);
      return;
    }
    send(stream, snapshot);
    onNews(snapshot);
  };

  const payOff = async (): Promise<void> => {
    for (const taskId of owed) {
      if (!stream?.isWritable) return;
      owed.delete(taskId);
      try {
        const reply = await read(taskId);
        if (reply.verdict === "found") offer(reply.snapshot);
      } catch {
        owed.add(taskId);
        return;
      }
    }
  };

  const catchUp = (): void => {
    if (isCatchingUp || owed.size === 0) return;
    isCatchingUp = true;
    void payOff().finally(() => {
      isCatchingUp = false;
    });
  };

  return {
    open(opened, found) {
      stream = opened;
      const taskIds = JSON.stringify(found.map(({ taskId }) => taskId));
      const notifications = found.length > 0 ? `"taskIds":${taskIds}` : "";
      opened.send(
        notificationText(
          "notifications/subscriptions/acknowledged",
          `{"_meta":{${tag}},"notifications":{${notifications}}}`,
        ),
      );
      for (const { taskId, snapshot } of found) {
        const isStale = !snapshot || (early.get(taskId) ?? -1) > snapshot.ver;
        if (isStale || !opened.isWritable) owed.add(taskId);
        else send(opened, snapshot);
      }
      early.clear();
      catchUp();
    },
    offer,
    catchUp,
    end() {
      stream?.end(resultText(subscriptionId, results.complete("", tag)));
    },
  };
}
