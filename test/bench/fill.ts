import { tenantRefOf } from "@perdure/tasks";
import type { Redis } from "ioredis";
import { OWNER } from "./stand.ts";

/*
 * Fills a Redis with copies of a task: inside of it, a few thousand in a step, so that a million takes seconds.
 */

const FILL = `
local record, prefix, due, counts = KEYS[1], ARGV[1], KEYS[2], KEYS[3]
local from, to, open, member = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local fields, at = redis.call("HGETALL", record), redis.call("ZSCORE", due, ARGV[6])
for i = from, to do
  local id = string.format("%024d", i)
  redis.call("HSET", prefix .. id, unpack(fields))
  redis.call("ZADD", due, at, member .. id)
end
redis.call("HINCRBY", counts, "open", to - from + 1)
redis.call("INCRBY", open, to - from + 1)
`;

const STEP = 4000;

/** The id of the n-th copy. */
export function copyId(index: number): string {
  return String(index).padStart(24, "0");
}

/** Makes copies 0 to `count` - 1 of a task of the bench's tenant. Each has its own record and `due` entry. */
export async function fillWithCopies(redis: Redis, taskId: string, count: number): Promise<void> {
  const ref = tenantRefOf(OWNER.tenant);
  const prefix = `{s00}:t:${ref}:`;
  for (let from = 0; from < count; from += STEP) {
    const to = Math.min(from + STEP, count) - 1;
    await redis.eval(
      FILL,
      3,
      prefix + taskId,
      "{s00}:due",
      `{s00}:n:${ref}`,
      prefix,
      from,
      to,
      "{s00}:open",
      `${ref}:`,
      `${ref}:${taskId}`,
    );
  }
}
