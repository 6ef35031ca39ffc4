import { TaskStoreError } from "@perdure/tasks";
import type { TaskStoreErrorCode } from "@perdure/tasks";

interface Trouble {
  readonly pattern: RegExp;
  readonly code: TaskStoreErrorCode;
  readonly message: string;
}

/*
 * What Redis or ioredis says, and what that means for the step. The first that matches counts.
 * Redis 6 puts the code of an error inside a script behind "-", Redis 7 in front.
 */
const TROUBLES: readonly Trouble[] = [
  { pattern: /(^|-)OOM /, code: "store_full", message: "Redis is full" },
  {
    pattern: /(^|-)(READONLY|MISCONF|NOREPLICAS) /,
    code: "store_readonly",
    message: "Redis takes no writes",
  },
  {
    pattern: /(^|-)(LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|NOAUTH|WRONGPASS|NOPERM)\b/,
    code: "store_unavailable",
    message: "Redis does not serve now",
  },
  {
    pattern:
      /Stream isn't writeable|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|startup nodes|Cluster isn't ready|Failed to refresh slots/,
    code: "store_unavailable",
    message: "Redis cannot be reached",
  },
  // The command was on its way when the connection went: it may have been carried out.
  {
    pattern:
      /Connection is closed|max retries per request|aborted due to connection close|ECONNRESET|EPIPE|Cluster redirections|Cluster is ended/,
    code: "store_unknown_outcome",
    message: "The connection to Redis broke before its answer came",
  },
];

/** The error as the ports promise it. What says nothing about the store comes back as it is. */
export function toStoreError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof TaskStoreError) return error;
  const trouble = TROUBLES.find(({ pattern }) => pattern.test(error.message));
  return trouble ? new TaskStoreError(trouble.code, trouble.message, { cause: error }) : error;
}
