import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { SSE_KEEP_ALIVE, sseEvent } from "@perdure/protocol";

/** One SSE response. Sending never blocks and never throws; a stream that is closed swallows what is sent. */
export interface SseStream {
  /** False while the client has not taken what was sent: nothing more should be sent until `onDrain`. */
  readonly isWritable: boolean;
  readonly isClosed: boolean;
  /** When something was last sent, and since when the client takes nothing (absent when it does). Monotonic milliseconds. */
  readonly lastSentMs: number;
  readonly stalledSinceMs: number | undefined;
  /** Sends a JSON text as one event. */
  send(json: string): void;
  /** Sends a comment, which clients ignore: it keeps proxies from closing an idle stream. */
  keepAlive(): void;
  /** Sends the last event, if there is one, and ends the response. Idempotent. */
  end(json?: string): void;
  /** Drops the connection. */
  destroy(): void;
}

/** What a stream tells. */
export interface SseEvents {
  /** The client can take more. */
  readonly onDrain?: () => void;
  /** The response is over: ended by us, or the client went away. Called once. */
  readonly onClose?: () => void;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** Beside those of every stream. */
  readonly headers?: OutgoingHttpHeaders;
}

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
} as const;

/** Starts an SSE response: status 200 and the headers go out at once. */
export function openSseStream(response: ServerResponse, events: SseEvents): SseStream {
  const { nowMs } = events;
  let lastSentMs = nowMs();
  let stalledSinceMs: number | undefined;
  let isEnded = false;

  response.writeHead(200, { ...HEADERS, ...events.headers });
  response.flushHeaders();
  response.socket?.setNoDelay(true);
  response.on("drain", () => {
    stalledSinceMs = undefined;
    if (!isEnded) events.onDrain?.();
  });
  response.on("error", () => response.destroy());
  response.once("close", () => {
    isEnded = true;
    events.onClose?.();
  });

  const write = (text: string): void => {
    if (isEnded || response.destroyed) return;
    lastSentMs = nowMs();
    if (!response.write(text)) stalledSinceMs ??= lastSentMs;
  };

  return {
    get isWritable() {
      return !isEnded && !response.destroyed && stalledSinceMs === undefined;
    },
    get isClosed() {
      return isEnded || response.destroyed;
    },
    get lastSentMs() {
      return lastSentMs;
    },
    get stalledSinceMs() {
      return stalledSinceMs;
    },
    send: (json) => write(sseEvent(json)),
    keepAlive: () => write(SSE_KEEP_ALIVE),
    end(json) {
      if (isEnded) return;
      if (json !== undefined) write(sseEvent(json));
      isEnded = true;
      response.end();
    },
    destroy() {
      isEnded = true;
      response.destroy();
    },
  };
}
