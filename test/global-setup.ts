// By path, as vitest loads this file before the conditions that resolve sibling packages to their sources apply.
import { ensureRedisServer, formatRedisBinary } from "../packages/redis-server/src/index.ts";

/** Once before all tests: finds a Redis server, or installs one on a machine that has none, and tells the test files by their environment. */
export async function setup(): Promise<void> {
  const binary = await ensureRedisServer({ say: (line) => console.error(line) });
  process.env["PERDURE_REDIS_BINARY"] = formatRedisBinary(binary);
}
