import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, startSentinel } from "@perdure/redis-server";
import type { RunningRedis, RunningSentinel } from "@perdure/redis-server";
import { Redis } from "ioredis";
import { redisBinary, startRedis } from "./start-redis.ts";
import type { StartRedisOptions } from "./start-redis.ts";
import { until } from "./until.ts";

/** A master, a replica and three Sentinels that watch them, on loopback. */
export interface RedisSentinel extends AsyncDisposable {
  /** `redis+sentinel://…`, with the database 0. */
  readonly url: string;
  /** The first is the master at the beginning. */
  readonly servers: readonly RunningRedis[];
  /** The port of the master, as the Sentinels say now. */
  masterPort(): Promise<number>;
  /** Waits until replicas have all that the master has. */
  replicated(): Promise<void>;
  /** Starts a server that was killed again, as a replica of the master of now. */
  revive(server: RunningRedis): Promise<void>;
  /** Idempotent. */
  stop(): Promise<void>;
}

const MASTER = "perdure";
const SENTINELS = 3;
/** How long a master must be silent until the Sentinels look for another. */
const DOWN_MS = 1000;

/** Starts them all, and resolves once the Sentinels know each other and the replica, so that a failover can be. */
export async function startRedisSentinel(options: StartRedisOptions = {}): Promise<RedisSentinel> {
  const dir = await mkdtemp(join(tmpdir(), "perdure-sentinel-"));
  const first = await startRedis({ ...options, dir: join(dir, "first") });
  const second = await startRedis({
    ...options,
    dir: join(dir, "second"),
    settings: { replicaof: `127.0.0.1 ${first.port}`, "repl-diskless-sync-delay": "0" },
  });
  const servers = [first, second];
  const sentinels: RunningSentinel[] = [];
  for (let index = 0; index < SENTINELS; index += 1) {
    const own = join(dir, `sentinel-${index}`);
    await mkdir(own);
    sentinels.push(
      await startSentinel({
        binary: await redisBinary(),
        dir: own,
        port: await freePort(),
        lines: [
          `sentinel monitor ${MASTER} 127.0.0.1 ${first.port} 2`,
          `sentinel down-after-milliseconds ${MASTER} ${DOWN_MS}`,
          `sentinel failover-timeout ${MASTER} 3000`,
        ],
      }),
    );
  }
  const connections = sentinels.map(({ port }) => new Redis(port, "127.0.0.1"));
  for (const connection of connections) connection.on("error", () => {});
  const ask = (connection: Redis, ...words: [string, ...string[]]): Promise<unknown> =>
    connection.call("SENTINEL", ...words, MASTER);
  const lengthOf = (list: unknown): number => (Array.isArray(list) ? list.length : 0);

  const sentinel: RedisSentinel = {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(",")}/${MASTER}/0`,
    servers,
    async masterPort() {
      const [connection] = connections;
      const address = await ask(connection!, "GET-MASTER-ADDR-BY-NAME");
      return Array.isArray(address) ? Number(address[1]) : 0;
    },
    async replicated() {
      const master = new Redis(await sentinel.masterPort(), "127.0.0.1");
      try {
        await master.set("replicated", "all before this");
        if ((await master.wait(1, 10_000)) < 1) throw new Error("The replica does not follow");
      } finally {
        master.disconnect();
      }
    },
    async revive(server) {
      const { port, dir } = server;
      // The Sentinels would make a replica of it too, some ten seconds later.
      const settings = { replicaof: `127.0.0.1 ${await sentinel.masterPort()}` };
      servers[servers.indexOf(server)] = await startRedis({ ...options, dir, port, settings });
    },
    async stop() {
      for (const connection of connections) connection.disconnect();
      await Promise.all([...sentinels, ...servers].map((server) => server.stop()));
      await rm(dir, { recursive: true, force: true });
    },
    [Symbol.asyncDispose]: () => sentinel.stop(),
  };
  await Promise.all(
    connections.map((connection) =>
      until(
        async () =>
          lengthOf(await ask(connection, "SENTINELS")) === SENTINELS - 1 &&
          lengthOf(await ask(connection, "REPLICAS")) === 1,
        { what: "the Sentinels to know each other and the replica", timeoutMs: 20_000 },
      ),
    ),
  );
  await sentinel.replicated();
  return sentinel;
}
