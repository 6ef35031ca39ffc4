import { TaskStoreError } from "@perdure/tasks";

/** A reply, and whether an earlier try may have been carried out although its reply was lost. */
export interface Retried<Reply> {
  readonly reply: Reply;
  readonly retried: boolean;
}

const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 1000;

/**
 * Sends a write, and sends it again as long as the store cannot be reached and `mayRetry()` holds. At least one try is
 * made: the store itself judges the claim. Rejects with the last `TaskStoreError`, or at once with any other error.
 */
export async function retryStore<Reply>(
  send: () => Promise<Reply>,
  mayRetry: () => boolean,
): Promise<Retried<Reply>> {
  for (let tries = 0; ; tries += 1) {
    try {
      return { reply: await send(), retried: tries > 0 };
    } catch (error) {
      if (!(error instanceof TaskStoreError) || !mayRetry()) throw error;
      await delay(Math.min(FIRST_WAIT_MS * 2 ** tries, LONGEST_WAIT_MS));
      if (!mayRetry()) throw error;
    }
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
