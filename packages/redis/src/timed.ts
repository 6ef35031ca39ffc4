/** Told of each command: the name of a script, or `read`, `send-wake-up`; and how long it took, in seconds. */
export type OnCommand = (command: string, seconds: number) => void;

/** Does `work` and tells how long it took, however it ended. A wait for the connection counts: so long did a caller wait. */
export async function timed<Reply>(
  onCommand: OnCommand | undefined,
  command: string,
  work: () => Promise<Reply>,
): Promise<Reply> {
  if (onCommand === undefined) return work();
  const startedMs = performance.now();
  try {
    return await work();
  } finally {
    onCommand(command, (performance.now() - startedMs) / 1000);
  }
}
