import { setTimeout as wait } from "node:timers/promises";

/** What is waited for, in words for the error, and for how long (default 10 s). */
export interface UntilOptions {
  readonly what: string;
  readonly timeoutMs?: number;
}

const POLL_MS = 10;

/**
 * Waits until `condition` gives something other than undefined, null or false, and gives that. It is asked every 10 ms.
 * Throws after the time limit, naming `what`; what the condition throws goes through at once.
 */
export async function until<Value>(
  condition: () => Value | Promise<Value>,
  { what, timeoutMs = 10_000 }: UntilOptions,
): Promise<Exclude<Value, undefined | null | false>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (isThere(value)) return value;
    if (performance.now() > deadline) throw new Error(`Waited ${timeoutMs} ms in vain for: ${what}`);
    await wait(POLL_MS);
  }
}

function isThere<Value>(value: Value): value is Exclude<Value, undefined | null | false> {
  return value !== undefined && value !== null && value !== false;
}
