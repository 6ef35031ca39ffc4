import type { WakeUp } from "@perdure/tasks";
import { z } from "zod";

/** BullMQ's queue of wake-ups, one in each shard under the shard's tag as prefix. */
export const WAKE_UP_QUEUE = "wakeups";

/** What a job carries: ids only. */
export interface WakeUpJob {
  readonly t: string;
  readonly id: string;
  readonly w: number;
  readonly e: number;
}

const wakeUpJob = z.strictObject({
  t: z.string(),
  id: z.string(),
  w: z.int().nonnegative(),
  e: z.int().nonnegative(),
});

/** A wake-up as a job. Its id comes from the record: a second copy is no second job, and a new event never has an old id. */
export function toJob({ ref, wake, epoch }: WakeUp): { readonly jobId: string; readonly data: WakeUpJob } {
  return {
    jobId: `${ref.taskId}-${wake}-${epoch}`,
    data: { t: ref.tenantRef, id: ref.taskId, w: wake, e: epoch },
  };
}

/** The wake-up in a job's data; undefined for a job that none of ours is. */
export function parseJob(data: unknown): WakeUp | undefined {
  const parsed = wakeUpJob.safeParse(data);
  if (!parsed.success) return undefined;
  const { t: tenantRef, id: taskId, w: wake, e: epoch } = parsed.data;
  return { ref: { tenantRef, taskId }, wake, epoch };
}
