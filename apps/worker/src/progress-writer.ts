import type { Fenced, WriteReply } from "@perdure/tasks";

/** Where progress goes. */
export interface ProgressWriterDeps {
  readonly write: (message: string) => Promise<WriteReply>;
  /** Told of a write that was refused. */
  readonly onFenced: (reply: Fenced) => void;
  /** Told of a write that failed. Progress is not durable: it is not tried again. */
  readonly onError: (error: unknown) => void;
}

/** Writes progress as slowly as the store should bear, however fast a tool reports it. */
export interface ProgressWriter {
  /** Keeps the message; an older one that was not yet written is dropped. */
  report(message: string): void;
  /** Writes what is kept, now, and resolves when nothing is in flight. Never rejects. */
  flush(): Promise<void>;
  /** Drops what is kept, and whatever is reported from now on. */
  end(): void;
}

const PAUSE_MS = 250;
const LONGEST_MESSAGE = 2000;

/** A {@link ProgressWriter}: one write in flight, the latest message wins, at most four writes a second. */
export function createProgressWriter({ write, onFenced, onError }: ProgressWriterDeps): ProgressWriter {
  let kept: string | undefined;
  let inFlight: Promise<void> | undefined;
  let pause: NodeJS.Timeout | undefined;
  let isOver = false;

  const writeKept = async (): Promise<void> => {
    const message = kept;
    kept = undefined;
    if (message === undefined) return;
    try {
      const reply = await write(message);
      if (reply.verdict === "fenced") onFenced(reply);
    } catch (error) {
      onError(error);
    }
  };

  const go = (): void => {
    if (isOver || inFlight || pause || kept === undefined) return;
    inFlight = writeKept().finally(() => {
      inFlight = undefined;
      if (isOver) return;
      pause = setTimeout(() => {
        pause = undefined;
        go();
      }, PAUSE_MS);
    });
  };

  const end = (): void => {
    isOver = true;
    kept = undefined;
    clearTimeout(pause);
  };

  return {
    report(message) {
      if (isOver) return;
      kept = message.slice(0, LONGEST_MESSAGE);
      go();
    },
    async flush() {
      await inFlight;
      if (!isOver) await writeKept();
      end();
    },
    end,
  };
}
