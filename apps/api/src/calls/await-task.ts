import type { Owner, TaskSnapshot } from "@perdure/tasks";
import { isTerminal } from "@perdure/tasks";
import type { Hub } from "../streams/hub.ts";

/** What waiting for a task gave. */
export type Awaited =
  /** It is over, or asks for input. */
  | { readonly verdict: "reached"; readonly snapshot: TaskSnapshot }
  /** One of the signals was aborted first. */
  | { readonly verdict: "stopped" }
  /** There is no such task any more. */
  | { readonly verdict: "gone" };

/** Whose task is awaited, and until when. */
export interface AwaitTaskOptions {
  readonly hub: Hub;
  readonly owner: Owner;
  readonly taskId: string;
  readonly signals: readonly AbortSignal[];
  /** Told of each message that a working task shows. */
  readonly onMessage: (message: string) => void;
}

/** Watches a task until it is over or asks for input. Nothing is left behind, however it ends. */
export async function awaitTask(options: AwaitTaskOptions): Promise<Awaited> {
  const { hub, owner, taskId, signals, onMessage } = options;
  const { promise, resolve } = Promise.withResolvers<Awaited>();
  let shown: string | undefined;
  const onSnapshot = (snapshot: TaskSnapshot): void => {
    const { status, statusMessage } = snapshot;
    if (isTerminal(status) || status === "input_required") return resolve({ verdict: "reached", snapshot });
    if (statusMessage === undefined || statusMessage === shown) return;
    shown = statusMessage;
    onMessage(statusMessage);
  };
  const onAbort = (): void => resolve({ verdict: "stopped" });
  for (const signal of signals) {
    if (signal.aborted) onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
  }
  try {
    const watch = await hub.watch({ owner, onSnapshot, onGone: () => resolve({ verdict: "gone" }) }, [
      taskId,
    ]);
    const [found] = watch.found;
    if (!found) resolve({ verdict: "gone" });
    else if (found.snapshot) onSnapshot(found.snapshot);
    const awaited = await promise;
    watch.close();
    return awaited;
  } finally {
    for (const signal of signals) signal.removeEventListener("abort", onAbort);
  }
}
