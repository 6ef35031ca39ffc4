import { busy } from "../edge/wire-failure.ts";
import type { Call } from "../methods/method.ts";
import type { StreamKeeper } from "../streams/stream-keeper.ts";

/** Why a call ended before its answer. */
export type EndReason = "client-gone" | "deadline" | "stopping";

/** How long a call that a client waits for lives. */
export interface CallScope {
  /** Aborted when nobody waits any more, the deadline passes, or the replica must stop. */
  readonly signal: AbortSignal;
  /** Why, once the signal is aborted. */
  readonly reason: EndReason | undefined;
  /** Idempotent. Every call closes its scope. */
  close(): void;
}

/** Opens scopes, as many at once as the replica can bear. */
export interface CallScopes {
  /** Throws 429 when there are too many. */
  open(call: Call): CallScope;
  /** Open scopes. */
  readonly count: number;
}

/** What scopes are made of. Times in milliseconds. */
export interface CallScopesOptions {
  readonly timeoutMs: number;
  readonly maxCalls: number;
  /** After so long without an answer a client that accepts a stream gets one, so that no proxy takes the silence for death. */
  readonly streamAfterMs: number;
  /** Aborted when the replica cannot wait any longer. */
  readonly stopping: AbortSignal;
  readonly keeper: StreamKeeper;
}

/** {@link CallScopes} of one replica. */
export function createCallScopes(options: CallScopesOptions): CallScopes {
  let count = 0;
  return {
    open(call) {
      if (count >= options.maxCalls) throw busy("calls");
      count += 1;
      return openCallScope(call, options, () => {
        count -= 1;
      });
    },
    get count() {
      return count;
    },
  };
}

/** Watches the call from the first time that somebody asks for the signal: what creates a task and gives its handle never does. */
function openCallScope(call: Call, options: CallScopesOptions, onClose: () => void): CallScope {
  let watch: CallScope | undefined;
  let isOpen = true;
  return {
    get signal() {
      watch ??= watchCall(call, options);
      return watch.signal;
    },
    get reason() {
      return watch?.reason;
    },
    close() {
      if (!isOpen) return;
      isOpen = false;
      watch?.close();
      onClose();
    },
  };
}

function watchCall(call: Call, options: CallScopesOptions): CallScope {
  const { keeper, stopping } = options;
  const controller = new AbortController();
  let reason: EndReason | undefined;
  const end = (why: EndReason): void => {
    if (controller.signal.aborted) return;
    reason = why;
    controller.abort(new Error(`The call ended: ${why}`));
  };
  const onGone = (): void => end("client-gone");
  const onStopping = (): void => end("stopping");
  const deadline = setTimeout(() => end("deadline"), options.timeoutMs);
  let dropStream: (() => void) | undefined;
  const silence = setTimeout(() => {
    if (!call.mayStream || controller.signal.aborted) return;
    const kept = { stream: call.openStream(), endsAtMs: Number.POSITIVE_INFINITY, endGracefully: () => {} };
    keeper.keep(kept);
    dropStream = () => keeper.drop(kept);
  }, options.streamAfterMs);

  if (call.clientGone.aborted) onGone();
  else if (stopping.aborted) onStopping();
  call.clientGone.addEventListener("abort", onGone, { once: true });
  stopping.addEventListener("abort", onStopping, { once: true });

  return {
    signal: controller.signal,
    get reason() {
      return reason;
    },
    close() {
      clearTimeout(deadline);
      clearTimeout(silence);
      call.clientGone.removeEventListener("abort", onGone);
      stopping.removeEventListener("abort", onStopping);
      dropStream?.();
    },
  };
}
