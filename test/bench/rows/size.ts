import { startCluster, type Cluster } from "@perdure/testkit";
import { Redis } from "ioredis";
import type { Bench } from "../bench.ts";
import { copyId, fillWithCopies } from "../fill.ts";
import { startProgram } from "../programs/program.ts";
import { load, openPorts, portOf, QUIET, storeEnded, type Contender } from "../stand.ts";
import { httpRequest } from "../wire.ts";
import { BENCH_TOOLS } from "./create.ts";

const FEW = 1000;
const MANY = 1_000_000;
const ASKED = 4000;
const CONCURRENCY = 8;

/** Two stores that differ in nothing but in how much lies in them. A million records take about 2.5 GB. */
export const size: Bench = {
  name: "size",
  isLong: true,
  figures: [
    {
      name: "size-create",
      title: "create, p99, with 1,000,000 records",
      unit: "ms",
      anchorTitle: "with 1,000 records",
      target: { kind: "at most", score: 1.5 },
    },
    {
      name: "size-get",
      title: "tasks/get, p99, with 1,000,000 records",
      unit: "ms",
      anchorTitle: "with 1,000 records",
      target: { kind: "at most", score: 1.5 },
    },
  ],
  async open({ requests: count, sliceMs }) {
    const generator = await startProgram("programs/load.ts");
    const [few, many] = [await startFilled(FEW), await startFilled(MANY)];
    const p99 = async (contender: Contender): Promise<number> =>
      (await load(generator, contender, { concurrency: CONCURRENCY, count, ms: sliceMs })).p99;
    return {
      async round() {
        const createFew = await p99(few.create);
        const createMany = await p99(many.create);
        const getFew = await p99(few.get);
        const getMany = await p99(many.get);
        return {
          "size-create": { ours: createMany, anchor: createFew, aside: { "GB in Redis": many.bytes / 1e9 } },
          "size-get": { ours: getMany, anchor: getFew },
        };
      },
      async close() {
        await generator.stop();
        await Promise.all([few.cluster.stop(), many.cluster.stop()]);
      },
    };
  },
};

interface Filled {
  readonly cluster: Cluster;
  readonly create: Contender;
  readonly get: Contender;
  readonly bytes: number;
}

async function startFilled(records: number): Promise<Filled> {
  const cluster = await startCluster({
    replicas: 1,
    workers: 0,
    env: { ...QUIET, PERDURE_TOOLS: BENCH_TOOLS },
  });
  const ports = await openPorts(cluster.redis.url);
  const [taskId = ""] = await storeEnded(ports, 1);
  await ports.stop();
  const redis = new Redis(cluster.redis.url);
  await fillWithCopies(redis, taskId, records);
  const bytes = Number(/used_memory:(\d+)/.exec(await redis.info("memory"))?.[1]);
  redis.disconnect();
  const token = await cluster.token({ expiresInSeconds: 7200 });
  // Spread over all of them, and not so many that the client has to hold a million requests.
  const ids = Array.from({ length: ASKED }, (_, i) => copyId(Math.floor((i * records) / ASKED)));
  const server = { port: portOf(cluster), cpu: async () => 0 };
  return {
    cluster,
    bytes,
    create: {
      ...server,
      requests: [
        httpRequest({
          method: "tools/call",
          params: { name: "bench_nothing", arguments: { text: "a".repeat(900) } },
          token,
          name: "bench_nothing",
        }),
      ],
    },
    get: {
      ...server,
      requests: ids.map((id) =>
        httpRequest({ method: "tasks/get", params: { taskId: id }, token, name: id }),
      ),
    },
  };
}
