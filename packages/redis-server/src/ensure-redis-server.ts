import { compileRedis } from "./compile-redis.ts";
import { installWithApt } from "./install-with-apt.ts";
import { withInstallLock } from "./install-lock.ts";
import { findRedisServer } from "./find-redis-server.ts";
import type { RedisBinary } from "./redis-binary.ts";
import { RedisServerError } from "./redis-server-error.ts";
import { prepareContainerImage } from "./redis-image.ts";

/** How to get a server where there may be none. */
export interface EnsureOptions {
  /** Told in one line, before it is done, what is about to be installed. */
  readonly say: (line: string) => void;
  /** A server that has to be compiled goes into `<dataDir>/redis-build`. Default `.perdure`. */
  readonly dataDir?: string;
}

/**
 * A Redis or Valkey server that can be started here. The first that works of: one on the machine; Docker, when an engine
 * answers and has or can get the image; the system's package manager (apt), when that asks nobody for a password;
 * one compiled from source, in minutes. Processes that call this at the same time wait for the first to install.
 * Throws `RedisServerError` (`redis_not_found`), whose message carries the command that helps.
 */
export async function ensureRedisServer({ say, dataDir = ".perdure" }: EnsureOptions): Promise<RedisBinary> {
  const found = await findRedisServer({ dataDir });
  if (found) return found;
  return withInstallLock(async () => {
    const meanwhile = await findRedisServer({ dataDir });
    if (meanwhile) return meanwhile;
    const image = await prepareContainerImage(say);
    if (image !== undefined) return { kind: "container", image };

    const log: string[] = [];
    const apt = await installWithApt(say);
    if (apt) {
      const installed = await findRedisServer({ dataDir });
      if (installed) return installed;
      log.push(...lastLines("apt-get", apt.output));
    }
    say("No Redis on this machine: compiling one from source, which takes some minutes");
    const compiled = await compileRedis(dataDir);
    const built = await findRedisServer({ dataDir });
    if (built) return built;
    throw new RedisServerError(
      "redis_not_found",
      `There is no Redis server, and none could be installed. ${REMEDY}`,
      [...log, ...lastLines("compile", compiled.output)],
    );
  });
}

const REMEDY =
  process.platform === "darwin"
    ? "Install one with: brew install redis"
    : "Install one with: sudo apt-get install redis-server (or your system's own: dnf install valkey, apk add redis, pacman -S valkey)";

function lastLines(source: string, output: string): string[] {
  return output
    .split("\n")
    .filter((line) => line.trim() !== "")
    .slice(-8)
    .map((line) => `${source}: ${line}`);
}
