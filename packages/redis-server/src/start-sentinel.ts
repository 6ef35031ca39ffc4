import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { askServer } from "./ask-server.ts";
import type { RedisBinary } from "./redis-binary.ts";
import { RedisServerError } from "./redis-server-error.ts";
import { startServerProcess } from "./server-process.ts";

/** What a Sentinel watches. */
export interface SentinelOptions {
  readonly binary: RedisBinary;
  /** An empty folder of its own: it writes what it learns into its settings there. */
  readonly dir: string;
  readonly port: number;
  /** The lines of `sentinel.conf`: `sentinel monitor <name> <host> <port> <quorum>` and what else it needs. */
  readonly lines: readonly string[];
}

/** A Sentinel that answers on loopback. */
export interface RunningSentinel {
  readonly port: number;
  readonly pid: number;
  /** Idempotent. */
  stop(): Promise<void>;
}

const START_MS = 10_000;
const POLL_MS = 20;

/**
 * Starts a Sentinel and resolves once it answers. Throws `RedisServerError` `redis_start_failed`, also when the server is
 * run in a container: there the servers would not see each other at the addresses that the Sentinels give out.
 */
export async function startSentinel(options: SentinelOptions): Promise<RunningSentinel> {
  const { binary, dir, port, lines } = options;
  if (binary.kind !== "program") {
    throw new RedisServerError("redis_start_failed", "A Sentinel needs a redis-server program", []);
  }
  const file = join(dir, "sentinel.conf");
  await writeFile(file, lines.map((line) => `${line}\n`).join(""));
  const args = [file, "--sentinel"];
  const server = await startServerProcess({ binary, args, dir, port, name: `perdure-sentinel-${port}` });
  const stop = async (): Promise<void> => {
    await server.signal("SIGKILL");
    await server.ended;
  };
  for (const deadline = performance.now() + START_MS; !(await askServer(port)); await wait(POLL_MS)) {
    if (!server.hasEnded() && performance.now() < deadline) continue;
    await stop();
    throw new RedisServerError(
      "redis_start_failed",
      `The Sentinel on port ${port} did not start`,
      server.log,
    );
  }
  return { port, pid: server.pid, stop };
}
