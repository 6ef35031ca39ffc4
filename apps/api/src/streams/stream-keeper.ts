import type { SseStream } from "./sse-stream.ts";

/** A long stream in the keeper's care. */
export interface KeptStream {
  readonly stream: SseStream;
  /** When the stream must end, in monotonic milliseconds. */
  readonly endsAtMs: number;
  /** Ends it as the protocol asks; the keeper calls it once. */
  readonly endGracefully: () => void;
  /** Called about once a second. */
  readonly onTick?: () => void;
}

/** One timer for all long streams of a replica: keep-alive comments, their end, and clients that stopped reading. */
export interface StreamKeeper {
  /** Cares for a stream until `drop`. */
  keep(kept: KeptStream): void;
  drop(kept: KeptStream): void;
  /** Ends every stream gracefully. Those that come later end at once. */
  endAll(): void;
  readonly count: number;
}

/** The times of a keeper, in milliseconds. */
export interface StreamKeeperOptions {
  /** A comment is sent after so long without an event. */
  readonly keepAliveMs: number;
  /** A client that takes nothing for so long is dropped. */
  readonly stallMs: number;
  /** Monotonic. */
  readonly nowMs: () => number;
}

/** A {@link StreamKeeper}. Its timer runs only while there is a stream. */
export function createStreamKeeper({ keepAliveMs, stallMs, nowMs }: StreamKeeperOptions): StreamKeeper {
  const streams = new Set<KeptStream>();
  const ending = new Set<KeptStream>();
  let timer: NodeJS.Timeout | undefined;
  let isEnding = false;

  const end = (kept: KeptStream): void => {
    if (ending.has(kept)) return;
    ending.add(kept);
    kept.endGracefully();
  };

  const tick = (): void => {
    const now = nowMs();
    for (const kept of streams) {
      const { stream, endsAtMs } = kept;
      if (stream.stalledSinceMs !== undefined && now - stream.stalledSinceMs >= stallMs) stream.destroy();
      else if (now >= endsAtMs) end(kept);
      else {
        kept.onTick?.();
        if (stream.isWritable && now - stream.lastSentMs >= keepAliveMs) stream.keepAlive();
      }
    }
  };

  return {
    keep(kept) {
      streams.add(kept);
      timer ??= setInterval(tick, Math.min(1000, Math.ceil(keepAliveMs / 2)));
      if (isEnding) end(kept);
    },
    drop(kept) {
      streams.delete(kept);
      ending.delete(kept);
      if (streams.size > 0) return;
      clearInterval(timer);
      timer = undefined;
    },
    endAll() {
      isEnding = true;
      for (const kept of streams) end(kept);
    },
    get count() {
      return streams.size;
    },
  };
}
