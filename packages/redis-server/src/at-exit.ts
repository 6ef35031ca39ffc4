const pending = new Set<() => void>();
let isListening = false;

/** Runs `action` when this process exits, unless the function it gives was called before. One listener serves all. */
export function atExit(action: () => void): () => void {
  pending.add(action);
  if (!isListening) {
    isListening = true;
    process.once("exit", () => {
      for (const run of pending) run();
    });
  }
  return () => {
    pending.delete(action);
  };
}
