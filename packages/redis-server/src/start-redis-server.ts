import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { askServer } from "./ask-server.ts";
import type { ServerIdentity } from "./ask-server.ts";
import { atExit } from "./at-exit.ts";
import { assertDirIsFree, noteDirOwner } from "./dir-owner.ts";
import { freePort } from "./free-port.ts";
import type { RedisBinary } from "./redis-binary.ts";
import { RedisServerError } from "./redis-server-error.ts";
import { startServerProcess } from "./server-process.ts";
import type { ServerProcess } from "./server-process.ts";

/** How a server keeps what it was told: each write on disk before its reply, once a second, or in memory only. */
export type Appendfsync = "always" | "everysec" | "no-aof";

/** What to start. */
export interface RedisServerOptions {
  readonly binary: RedisBinary;
  /** Where its data lives; made when absent. Default: a temporary folder that goes away with the server. */
  readonly dir?: string;
  /** Default: a free one. */
  readonly port?: number;
  readonly appendfsync: Appendfsync;
  /** As Redis reads it: `"100mb"`. A full server refuses writes, it never evicts. Default: no limit. */
  readonly maxmemory?: string;
  /** Further settings by name, each as in a line of `redis.conf`: `{ replicaof: "127.0.0.1 7000" }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Told in one line what was started. */
  readonly say?: (line: string) => void;
  /** How long it may take to load its data and answer. Default 30 s. */
  readonly startTimeoutMs?: number;
}

/** A private server that answers on loopback. */
export interface RunningRedis extends AsyncDisposable {
  /** `redis://127.0.0.1:<port>` */
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly dir: string;
  /** Resolves when the server has ended, for whatever reason. Never rejects. */
  readonly ended: Promise<void>;
  /** Ends it in order; by force after 5 s. Idempotent. */
  stop(): Promise<void>;
  /** Ends it with SIGKILL. It may be started again on the same `dir` and `port`. */
  kill(): Promise<void>;
}

const START_TIMEOUT_MS = 30_000;
const STOP_TIMEOUT_MS = 5_000;
const POLL_MS = 10;
const PORT_PICKS = 5;

/**
 * Starts a server of this process's own and resolves once it answers.
 * Throws `RedisServerError`: `redis_port_taken`, `redis_dir_in_use` or `redis_start_failed`, with the server's last lines.
 */
export async function startRedisServer(options: RedisServerOptions): Promise<RunningRedis> {
  if (options.port !== undefined) return startOnPort(options, options.port);
  // A port that was free a moment ago may be taken by now: pick again.
  for (let pick = 1; ; pick++) {
    try {
      return await startOnPort(options, await freePort());
    } catch (error) {
      const isTaken = error instanceof RedisServerError && error.code === "redis_port_taken";
      if (!isTaken || pick === PORT_PICKS) throw error;
    }
  }
}

async function startOnPort(options: RedisServerOptions, port: number): Promise<RunningRedis> {
  const { dir, dispose } = await dataDir(options.dir);
  await assertDirIsFree(dir);

  const before = await askServer(port);
  const name = `perdure-redis-${randomUUID()}`;
  const server = await startServerProcess({
    binary: options.binary,
    args: serverArgs(options),
    dir,
    port,
    name,
  });
  const end = async (signal: "SIGTERM" | "SIGKILL"): Promise<void> => {
    await server.signal(signal);
    const deadline = new AbortController();
    await Promise.race([server.ended, wait(STOP_TIMEOUT_MS, undefined, { signal: deadline.signal })]).finally(
      () => deadline.abort(),
    );
    if (!server.hasEnded()) await server.signal("SIGKILL");
    await server.ended;
  };
  try {
    const identity = await untilAnswers({ server, port, before }, options);
    await noteDirOwner(dir, { port, runId: identity.runId });
  } catch (error) {
    await end("SIGKILL");
    await dispose();
    throw error;
  }
  options.say?.(`Redis answers on 127.0.0.1:${port} (data in ${dir})`);

  const stop = async (): Promise<void> => {
    await end("SIGTERM");
    await dispose();
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    pid: server.pid,
    dir,
    ended: server.ended,
    stop,
    kill: () => end("SIGKILL"),
    [Symbol.asyncDispose]: stop,
  };
}

function serverArgs({ appendfsync, maxmemory, settings = {} }: RedisServerOptions): readonly string[] {
  const aof =
    appendfsync === "no-aof" ? ["--appendonly", "no"] : ["--appendonly", "yes", "--appendfsync", appendfsync];
  const memory = maxmemory === undefined ? [] : ["--maxmemory", maxmemory];
  const more = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, ...value.split(" ")]);
  return ["--save", "", ...aof, ...memory, "--maxmemory-policy", "noeviction", ...more, "--daemonize", "no"];
}

/** A start that is under way. `before` is what answered on the port until then. */
interface Start {
  readonly server: ServerProcess;
  readonly port: number;
  readonly before: ServerIdentity | undefined;
}

async function untilAnswers(
  { server, port, before }: Start,
  { startTimeoutMs = START_TIMEOUT_MS }: RedisServerOptions,
): Promise<ServerIdentity> {
  const deadline = performance.now() + startTimeoutMs;
  while (performance.now() < deadline) {
    if (server.hasEnded()) throw endedEarly(port, server.log);
    const identity = await askServer(port);
    // Another server on the port would answer too, while ours is about to give up.
    if (identity && identity.runId !== before?.runId) return identity;
    await wait(POLL_MS);
  }
  throw new RedisServerError(
    "redis_start_failed",
    `Redis did not answer on 127.0.0.1:${port} within ${startTimeoutMs} ms.`,
    server.log,
  );
}

function endedEarly(port: number, log: readonly string[]): RedisServerError {
  const isTaken = log.some((line) => /address already in use|port is already allocated/i.test(line));
  return isTaken
    ? new RedisServerError(
        "redis_port_taken",
        `Port ${port} is taken: give another, or stop what listens there.`,
        log,
      )
    : new RedisServerError("redis_start_failed", "Redis ended while it was starting.", log);
}

/** A temporary folder outlives a kill, so that the server can be started again on it; it goes away at the latest with this process. */
async function dataDir(asked: string | undefined): Promise<{ dir: string; dispose: () => Promise<void> }> {
  if (asked !== undefined) {
    const dir = resolve(asked);
    await mkdir(dir, { recursive: true });
    return { dir, dispose: () => Promise.resolve() };
  }
  const dir = await mkdtemp(join(tmpdir(), "perdure-redis-"));
  const forget = atExit(() => {
    try {
      rmSync(dir, { recursive: true, force: true });
    } catch {
      // The server is still writing its last lines there; the system's own cleaning of temporary files takes the rest.
    }
  });
  return {
    dir,
    async dispose() {
      forget();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
