/** What is done when this process is told to stop. */
export interface StopSignalHandlers {
  /** Called once, at the first SIGTERM or SIGINT. */
  readonly onFirst: (signal: NodeJS.Signals) => void;
  /** Called when the same signal comes again after that: whoever sends it does not want to wait. */
  readonly onAgain: (signal: NodeJS.Signals) => void;
}

/** So soon after the first a signal is an echo of it. */
const ECHO_MS = 500;

/**
 * Listens to SIGTERM and SIGINT for the rest of the process's life.
 *
 * One Ctrl-C may come as several signals: the terminal sends SIGINT to the whole group, npm passes on the one that it got
 * itself, and a parent that stops its children sends SIGTERM. So a signal of the other kind, or one that comes at once,
 * says nothing new.
 */
export function onStopSignals({ onFirst, onAgain }: StopSignalHandlers): void {
  let first: { readonly signal: NodeJS.Signals; readonly atMs: number } | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const nowMs = performance.now();
    if (!first) {
      first = { signal, atMs: nowMs };
      onFirst(signal);
    } else if (signal === first.signal && nowMs - first.atMs >= ECHO_MS) onAgain(signal);
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}
