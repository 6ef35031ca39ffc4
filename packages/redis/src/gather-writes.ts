import { Cluster } from "ioredis";
import type { RedisClient } from "./connections.ts";

/**
 * Has what this turn of the event loop sends to one Redis written at once. The client library's auto-pipelining does that too,
 * but sends nothing more before the last batch is answered to its last reply: so this process and Redis would work by turns.
 */
export function gatherWrites(redis: RedisClient): void {
  if (redis instanceof Cluster || redis.status !== "ready") return;
  const { stream } = redis;
  if (stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}
