import type { RunOutcome } from "./run-host.ts";
import type { Tool } from "./tool.ts";

/** What failed: a step by its name, or `""` for the function around the steps; how often it had failed before; and why now. */
export interface Failure {
  readonly failed: string;
  readonly before: number;
  readonly cause: unknown;
}

const MAX_DOUBLED_MS = 60_000;

/** The outcome that has a failure tried again, or undefined when its attempts are used up. The wait doubles, up to a minute. */
export function retryOf(
  { attempts, backoffMs }: Tool["retry"],
  { failed, before, cause }: Failure,
): Extract<RunOutcome, { kind: "retry" }> | undefined {
  if (before + 1 >= attempts) return undefined;
  const delayMs = Math.min(backoffMs * 2 ** before, Math.max(backoffMs, MAX_DOUBLED_MS));
  const what = failed === "" ? "The tool" : `The step ${JSON.stringify(failed)}`;
  return { kind: "retry", failed, delayMs, message: `${what} failed and will be tried again`, cause };
}
