import { WireError, wireErrors } from "@perdure/protocol";
import { TaskStoreError } from "@perdure/tasks";
import type { TaskStoreErrorCode } from "@perdure/tasks";
import type { Refused } from "../identity/identity.ts";

/** What a client is told when the store cannot do a step, and how long it should wait. */
const STORE_FAILURES: Record<
  TaskStoreErrorCode,
  { readonly message: string; readonly retryAfterMs: number }
> = {
  store_unavailable: { message: "The task store is unavailable", retryAfterMs: 1000 },
  store_full: { message: "The task store is full", retryAfterMs: 5000 },
  store_readonly: { message: "The task store takes no writes", retryAfterMs: 5000 },
  store_unknown_outcome: {
    message: "The task store did not answer: the step may or may not have happened",
    retryAfterMs: 1000,
  },
};

/** The one place that turns whatever a request threw into what its client is told. Nothing of an unexpected error is told. */
export function wireErrorOf(error: unknown): WireError {
  if (error instanceof WireError) return error;
  if (error instanceof TaskStoreError) {
    const { message, retryAfterMs } = STORE_FAILURES[error.code];
    const { headers, data } = wireErrors.unavailable(retryAfterMs);
    return new WireError("unavailable", message, {
      headers,
      cause: error,
      ...(data !== undefined && { data }),
    });
  }
  return wireErrors.internal(error);
}

const REFUSALS = {
  400: "invalidRequest",
  401: "unauthorized",
  403: "forbidden",
  503: "unavailable",
} as const;

/** A refusal of identity as a wire error, with its challenge. */
export function refusalOf({ status, description, headers }: Refused): WireError {
  return new WireError(REFUSALS[status], description, { headers });
}

/** Too much in hand at once: the client may try again soon. */
export function busy(what: string): WireError {
  return wireErrors.rateLimited(1000, `This replica has too many ${what} in hand`);
}
