import type { ReadReply, TaskSnapshot } from "@perdure/tasks";
import { presentDetailedTask } from "../present-task.ts";
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
  offer(snapshot: TaskSnapshot): void;
  /** Reads and sends what is owed, as far as the client takes it. */
  catchUp(): void;
  /** Ends the stream with the JSON-RPC result of the listen request (MCP subscriptions §Graceful Closure). */
  end(): void;
}

/** What a listener is made of. */
export interface ListenerDeps {
  /** The listen request's id, as JSON text: a number stays a number. */
  readonly subscriptionId: string;
  /** The server's identity: the members of a result's `_meta`, as JSON text without braces. */
  readonly serverMeta: string;
  readonly read: (taskId: string) => Promise<ReadReply>;
  /** Told of each snapshot that was sent. */
  readonly onSent: (snapshot: TaskSnapshot) => void;
}

/** A {@link Listener}. */
export function createListener({ subscriptionId, serverMeta, read, onSent }: ListenerDeps): Listener {
  const tag = `"io.modelcontextprotocol/subscriptionId":${subscriptionId}`;
  const sent = new Map<string, number>();
  const early = new Map<string, number>();
  const owed = new Set<string>();
  let stream: SseStream | undefined;
  let isCatchingUp = false;

  const send = (to: SseStream, snapshot: TaskSnapshot): void => {
    sent.set(snapshot.taskId, snapshot.ver);
    owed.delete(snapshot.taskId);
    to.send(notification("notifications/tasks", `"_meta":{${tag}},${presentDetailedTask(snapshot)}`));
    onSent(snapshot);
  };

  const offer = (snapshot: TaskSnapshot): void => {
    if (!stream) {
      early.set(snapshot.taskId, snapshot.ver);
      return;
    }
    if (stream.isClosed || snapshot.ver <= (sent.get(snapshot.taskId) ?? -1)) return;
    if (stream.isWritable) send(stream, snapshot);
    else owed.add(snapshot.taskId);
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

  return {
    open(opened, found) {
      stream = opened;
      const taskIds = JSON.stringify(found.map(({ taskId }) => taskId));
      const notifications = found.length > 0 ? `"taskIds":${taskIds}` : "";
      opened.send(
        notification(
          "notifications/subscriptions/acknowledged",
          `"_meta":{${tag}},"notifications":{${notifications}}`,
        ),
      );
      for (const { taskId, snapshot } of found) {
        if (!snapshot || (early.get(taskId) ?? -1) > snapshot.ver) owed.add(taskId);
        else offer(snapshot);
      }
      early.clear();
      this.catchUp();
    },
    offer,
    catchUp() {
      if (isCatchingUp || owed.size === 0) return;
      isCatchingUp = true;
      void payOff().finally(() => {
        isCatchingUp = false;
      });
    },
    end() {
      stream?.end(
        `{"jsonrpc":"2.0","id":${subscriptionId},"result":{"resultType":"complete","_meta":{${serverMeta},${tag}}}}`,
      );
    },
  };
}

function notification(method: string, params: string): string {
  return `{"jsonrpc":"2.0","method":"${method}","params":{${params}}}`;
}
