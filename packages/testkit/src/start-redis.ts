import { ensureRedisServer, parseRedisBinary, startRedisServer } from "@perdure/redis-server";
import type { RedisServerOptions, RunningRedis } from "@perdure/redis-server";

/** As for `startRedisServer`, all of it optional. */
export type StartRedisOptions = Partial<Omit<RedisServerOptions, "binary">>;

/**
 * A Redis of the test's own: a free port, in memory only, `noeviction`, unless the options say otherwise.
 * `await using redis = await startRedis()` stops it at the end of the block.
 */
export async function startRedis(options: StartRedisOptions = {}): Promise<RunningRedis> {
  // The run's global setup has found the server already; a file that is run without it finds its own.
  const given = process.env["PERDURE_REDIS_BINARY"];
  const binary =
    given === undefined || given === ""
      ? await ensureRedisServer({ say: (line) => console.error(line) })
      : parseRedisBinary(given);
  return startRedisServer({ appendfsync: "no-aof", ...options, binary });
}
