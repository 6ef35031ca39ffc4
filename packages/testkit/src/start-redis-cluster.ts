import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@perdure/redis-server";
import type { RunningRedis } from "@perdure/redis-server";
import { Redis } from "ioredis";
import { startRedis } from "./start-redis.ts";
import type { StartRedisOptions } from "./start-redis.ts";
import { until } from "./until.ts";

/** How the nodes run. */
export interface RedisClusterOptions extends StartRedisOptions {
  /** False: what is on other nodes is served while one is gone. Default true, as Redis has it. */
  readonly requireFullCoverage?: boolean;
}

/** A Redis Cluster of masters on loopback; each has an even share of the slots. */
export interface RedisCluster extends AsyncDisposable {
  /** `redis+cluster://…`, with all nodes. */
  readonly url: string;
  readonly nodes: readonly RunningRedis[];
  /** The node that has the key. Says so also of one that is gone. */
  nodeOf(key: string): Promise<RunningRedis>;
  /** Starts a node that was killed again, on the same port and data. */
  revive(node: RunningRedis): Promise<void>;
  /** Idempotent. */
  stop(): Promise<void>;
}

const NODES = 3;
const SLOTS = 16_384;
/** The nodes talk to each other on the port + 10,000. */
const BUS = 10_000;
/** Long, as a busy machine must not part them. */
const NODE_TIMEOUT_MS = 5000;

/** Starts the nodes, gives them their slots, and resolves once each says that the Cluster is whole. */
export async function startRedisCluster({
  requireFullCoverage = true,
  ...options
}: RedisClusterOptions = {}): Promise<RedisCluster> {
  const dir = await mkdtemp(join(tmpdir(), "perdure-redis-cluster-"));
  const settings = {
    "cluster-enabled": "yes",
    "cluster-node-timeout": String(NODE_TIMEOUT_MS),
    "cluster-require-full-coverage": requireFullCoverage ? "yes" : "no",
  };
  const start = (port: number, name: string): Promise<RunningRedis> =>
    startRedis({ ...options, settings, port, dir: join(dir, name) });
  const nodes: RunningRedis[] = [];
  for (let index = 0; index < NODES; index += 1)
    nodes.push(await start(await clusterPort(), `node-${index}`));
  const ports = nodes.map(({ port }) => port);

  const firstSlot = (index: number): number => Math.floor((SLOTS * index) / NODES);
  const connections = nodes.map(({ port }) => new Redis(port, "127.0.0.1"));
  try {
    for (const [index, connection] of connections.entries()) {
      await connection.cluster("ADDSLOTSRANGE", firstSlot(index), firstSlot(index + 1) - 1);
      await connection.cluster("SET-CONFIG-EPOCH", index + 1);
      if (index > 0) await connection.cluster("MEET", "127.0.0.1", ports[0]!);
    }
    for (const connection of connections)
      await until(
        async () => {
          const info = await connection.cluster("INFO");
          return /cluster_state:ok/.test(info) && info.includes(`cluster_size:${NODES}`);
        },
        { what: "the Cluster to be whole", timeoutMs: 20_000 },
      );
  } finally {
    for (const connection of connections) connection.disconnect();
  }

  const cluster: RedisCluster = {
    url: `redis+cluster://${ports.map((port) => `127.0.0.1:${port}`).join(",")}`,
    nodes,
    async nodeOf(key) {
      for (const { port } of nodes) {
        const connection = new Redis(port, "127.0.0.1", { retryStrategy: null });
        connection.on("error", () => {});
        try {
          const slot = await connection.cluster("KEYSLOT", key);
          return nodes[nodes.findIndex((_, index) => slot < firstSlot(index + 1))]!;
        } catch {
          // This node is gone; any other knows it too.
        } finally {
          connection.disconnect();
        }
      }
      throw new Error("No node answers");
    },
    async revive(node) {
      const index = nodes.indexOf(node);
      nodes[index] = await start(node.port, `node-${index}`);
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
      await rm(dir, { recursive: true, force: true });
    },
    [Symbol.asyncDispose]: () => cluster.stop(),
  };
  return cluster;
}

/** A free port that has a port for the bus above it. */
async function clusterPort(): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (port + BUS < 2 ** 16) return port;
  }
}
