import { ensureRedisServer, parseRedisBinary, startRedisServer } from "@perdure/redis-server";
import type { RedisBinary, RedisServerOptions, RunningRedis } from "@perdure/redis-server";

/** As for `startRedisServer`, all of it optional. */
export type StartRedisOptions = Partial<Omit<RedisServerOptions, "binary">>;

/**
 * A Redis of the test's own: a free port, in memory only, `noeviction`, unless the options say otherwise.
 * `await using redis = await startRedis()` stops it at the end of the block.
 */
export async function startRedis(options: StartRedisOptions = {}): Promise<RunningRedis> {
  return startRedisServer({ appendfsync: "no-aof", ...options, binary: await redisBinary() });
}

/** The server that tests run. */
export async function redisBinary(): Promise<RedisBinary> {
  // The run's global setup has found the server already; a file that is run without it finds its own.
  const given = process.env["PERDURE_REDIS_BINARY"];
  return given === undefined || given === ""
    ? ensureRedisServer({ say: (line) => console.error(line) })
    : parseRedisBinary(given);
}
