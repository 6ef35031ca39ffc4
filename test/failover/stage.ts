import { mkdir, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { RoleProcess } from "@perdure/runtime";
import { type Cluster, startCluster } from "@perdure/testkit";
import { Redis } from "ioredis";
import { type PreviousBuild, makePreviousBuild } from "./source-tree.ts";
import { type TcpProxy, startTcpProxy } from "./tcp-proxy.ts";
import { type ToolLine, toolLine } from "./tool-line.ts";

/** A replica or a worker, whatever process plays it now. */
export interface Role {
  readonly kind: "replica" | "worker";
  readonly name: string;
  /** Its own way to Redis. */
  readonly proxy: TcpProxy;
  process: RoleProcess | undefined;
  /** The endpoint of a replica; undefined while it is down. */
  url: string | undefined;
  /** A fault has it in hand. */
  isBusy: boolean;
}

/** When a process stood still. Milliseconds since the epoch. */
export interface Freeze {
  readonly pid: number;
  readonly from: number;
  to: number;
}

/** Which sources a role runs. */
export type Build = "present" | "previous";

/** The cluster under test, each role behind a proxy of its own, and the ways to break it. */
export interface Stage extends AsyncDisposable {
  readonly cluster: Cluster;
  readonly replicas: readonly Role[];
  readonly workers: readonly Role[];
  readonly roles: readonly Role[];
  readonly previous: PreviousBuild;
  /** Straight to Redis, past all proxies; waits through outages. */
  readonly redis: Redis;
  readonly freezes: readonly Freeze[];
  /** Starts a process for the role and resolves once it is ready, however often it takes. */
  start(role: Role, build?: Build): Promise<void>;
  /** SIGKILL. */
  kill(role: Role): Promise<void>;
  /** SIGTERM, and the time for it. */
  leave(role: Role): Promise<void>;
  freeze(role: Role, ms: number): Promise<void>;
  /** What the tools told so far. */
  toolLines(): Promise<readonly ToolLine[]>;
}

/** The lease of every run. */
export const LEASE_MS = 2000;

const TOOLS = fileURLToPath(new URL("tools.ts", import.meta.url));
const START_MS = 150_000;

/** Starts Redis with its AOF synced at every write, and the roles. */
export async function startStage(size: { replicas: number; workers: number }, asked: string): Promise<Stage> {
  const dir = await mkdtemp(join(tmpdir(), "perdure-chaos-"));
  const toolDir = join(dir, "tools");
  await mkdir(toolDir);
  const previous = await makePreviousBuild(join(dir, "previous"), asked);
  const cluster = await startCluster({
    replicas: 0,
    workers: 0,
    redis: { appendfsync: "always" },
    env: {
      PERDURE_AUDIT: "on",
      PERDURE_LEASE_MS: String(LEASE_MS),
      PERDURE_TOOLS: TOOLS,
      PERDURE_POLL_INTERVAL_MS: "100",
      CHAOS_TOOL_DIR: toolDir,
    },
  });
  const redis = new Redis(cluster.redis.url, {
    maxRetriesPerRequest: null,
    retryStrategy: () => 50,
  });
  redis.on("error", () => {});

  const freezes: Freeze[] = [];
  const makeRole = async (kind: Role["kind"], number: number): Promise<Role> => ({
    kind,
    name: `${kind} ${number}`,
    proxy: await startTcpProxy(cluster.redis.port),
    process: undefined,
    url: undefined,
    isBusy: false,
  });
  const cast = (kind: Role["kind"], count: number): Promise<Role[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => makeRole(kind, index + 1)));
  const replicas = await cast("replica", size.replicas);
  const workers = await cast("worker", size.workers);
  const roles = [...replicas, ...workers];

  const stage: Stage = {
    cluster,
    replicas,
    workers,
    roles,
    previous,
    redis,
    freezes,
    async start(role, build = "present") {
      const env = { PERDURE_REDIS_URL: role.proxy.url };
      const root = build === "previous" ? [previous.root] : [];
      const deadline = performance.now() + START_MS;
      for (;;) {
        try {
          if (role.kind === "replica") {
            const replica = await cluster.startReplica(env, ...root);
            role.process = replica;
            role.url = replica.url;
          } else {
            role.process = await cluster.startWorker(env, ...root);
          }
          return;
        } catch (error) {
          // Redis may be away just now: whoever runs a service starts it again.
          if (performance.now() > deadline) throw error;
          await delay(200);
        }
      }
    },
    async kill(role) {
      role.url = undefined;
      role.process?.signal("SIGKILL");
      await role.process?.exited;
    },
    async leave(role) {
      role.url = undefined;
      await role.process?.stop();
    },
    async freeze(role, ms) {
      const { process } = role;
      if (!process) return;
      const frozen: Freeze = { pid: process.pid, from: Date.now(), to: Number.POSITIVE_INFINITY };
      freezes.push(frozen);
      process.signal("SIGSTOP");
      await delay(ms);
      frozen.to = Date.now();
      process.signal("SIGCONT");
    },
    async toolLines() {
      const lines: ToolLine[] = [];
      for (const file of await readdir(toolDir))
        for (const line of (await readFile(join(toolDir, file), "utf8")).split("\n"))
          if (line !== "") lines.push(toolLine.parse(JSON.parse(line)));
      return lines.sort((a, b) => a.at - b.at);
    },
    async [Symbol.asyncDispose]() {
      for (const role of roles) role.process?.signal("SIGCONT");
      redis.disconnect();
      await cluster.stop();
      await Promise.all(roles.map(({ proxy }) => proxy[Symbol.asyncDispose]()));
      await rm(dir, { recursive: true, force: true });
    },
  };
  try {
    await Promise.all(roles.map((role) => stage.start(role)));
  } catch (error) {
    await stage[Symbol.asyncDispose]();
    throw error;
  }
  return stage;
}
