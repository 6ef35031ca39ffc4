import { TaskStoreError } from "@perdure/tasks";
import { z } from "zod";
import type { CommandLink } from "./command-link.ts";
import { mastersOf } from "./connections.ts";
import { within } from "./within.ts";

/** Keeps room in Redis for tasks that are there already: near full, new ones are refused while the others end. */
export interface Admission {
  /** Throws `store_full` when three quarters of the `maxmemory` of any node are used. Asks Redis at most twice a second. */
  assertRoom(): Promise<void>;
}

/** The share of `maxmemory` above which no task is created. The rest is for journals and results of those that run. */
export const ADMIT_BELOW = 0.75;

const ASK_EVERY_MS = 500;
/** Longer than this no creation waits to know. */
const ASK_MS = 300;

const memory = z.object({
  used_memory: z.coerce.number(),
  /** 0: no limit. */
  maxmemory: z.coerce.number(),
});

/** An {@link Admission} that remembers the last answer. Only the first creation and one that would be refused wait for it. */
export function createAdmission(link: CommandLink): Admission {
  let share: number | undefined;
  let askedAt = -Infinity;
  let asking: Promise<void> | undefined;

  const look = async (): Promise<void> => {
    const texts = await link.call((redis) =>
      Promise.all(mastersOf(redis).map((master) => master.info("memory"))),
    );
    share = Math.max(0, ...texts.map(shareOf));
  };
  const ask = (): Promise<void> => {
    askedAt = performance.now();
    asking ??= look().finally(() => {
      asking = undefined;
    });
    return asking;
  };
  const isFull = (): boolean => share !== undefined && share > ADMIT_BELOW;

  return {
    async assertRoom() {
      if (performance.now() - askedAt > ASK_EVERY_MS) ask().catch(() => {});
      // Who would be refused by what was so a moment ago waits for what is so now. That nothing can be known is no
      // reason to refuse: the creation itself will say what is wrong with the store.
      if (asking !== undefined && (share === undefined || isFull()))
        await within(ASK_MS, asking).catch(() => false);
      if (share !== undefined && isFull()) {
        const percent = Math.round(100 * share);
        throw new TaskStoreError(
          "store_full",
          `Redis uses ${percent} % of its maxmemory: new tasks are refused above 75 %`,
        );
      }
    },
  };
}

function shareOf(text: string): number {
  const { used_memory: used, maxmemory } = memory.parse(Object.fromEntries(linesOf(text)));
  return maxmemory === 0 ? 0 : used / maxmemory;
}

function linesOf(text: string): [string, string][] {
  return text.split("\r\n").flatMap((line): [string, string][] => {
    const [name, value] = line.split(":");
    return name !== undefined && value !== undefined ? [[name, value]] : [];
  });
}
