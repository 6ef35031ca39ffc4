import { fileURLToPath } from "node:url";
import { startCluster } from "@perdure/testkit";
import type { Bench } from "../bench.ts";
import { startProgram, type Program } from "../programs/program.ts";
import { cpuOf, load, portOf, QUIET, type Contender } from "../stand.ts";
import { httpRequest } from "../wire.ts";

export const BENCH_TOOLS = fileURLToPath(new URL("../tools/bench-tools.ts", import.meta.url));
const IN_FLIGHT = 64;

/** Creations on a Redis that syncs each write: as the store does them, and as a client asks for them. */
export const create: Bench = {
  name: "create",
  figures: [
    {
      name: "create",
      title: "durable creations per second, 64 in flight (record, wake-up)",
      unit: "/s",
      anchorTitle: "SET + BullMQ add, same appendfsync",
      target: { kind: "at least", score: 0.7 },
    },
    {
      name: "create-http",
      title: "durable creations per second by tools/call, 64 in flight",
      unit: "/s",
      anchorTitle: "bare node:http + SET + BullMQ add",
      target: { kind: "at least", score: 0.7 },
    },
  ],
  async open({ requests: count, sliceMs }) {
    const cluster = await startCluster({
      replicas: 1,
      workers: 0,
      redis: { appendfsync: "always" },
      env: { ...QUIET, PERDURE_TOOLS: BENCH_TOOLS },
    });
    const { url } = cluster.redis;
    const [generator, creator, anchor, http] = await Promise.all([
      startProgram("programs/load.ts"),
      startProgram("programs/creator.ts", [url, "durable"]),
      startProgram("anchors/add-and-set.ts", [url]),
      startProgram("anchors/http-server.ts", ["add-and-set", url]),
    ]);
    const request = httpRequest({
      method: "tools/call",
      params: { name: "bench_nothing", arguments: { text: "a".repeat(900) } },
      token: await cluster.token({ expiresInSeconds: 7200 }),
      name: "bench_nothing",
    });
    await http.ask("answerWith", "{}");
    const replica: Contender = {
      port: portOf(cluster),
      requests: [request],
      cpu: () => cpuOf(cluster.replicas[0]!),
    };
    const bare: Contender = {
      port: await http.ask<number>("port"),
      requests: [request],
      cpu: http.cpu,
    };
    const perSecond = async (program: Program): Promise<number> =>
      count / (await program.ask<number>("run", { count, inFlight: IN_FLIGHT }));
    const overHttp = (contender: Contender) =>
      load(generator, contender, { concurrency: IN_FLIGHT, count, ms: sliceMs });
    return {
      async round() {
        const [ours, anchorRate] = [await perSecond(creator), await perSecond(anchor)];
        const [oursHttp, anchorHttp] = [await overHttp(replica), await overHttp(bare)];
        return {
          create: { ours, anchor: anchorRate },
          "create-http": {
            ours: oursHttp.count / oursHttp.seconds,
            anchor: anchorHttp.count / anchorHttp.seconds,
            aside: { "µs CPU": oursHttp.cpuPerRequest, "anchor µs CPU": anchorHttp.cpuPerRequest },
          },
        };
      },
      async close() {
        await Promise.all([generator, creator, anchor, http].map((program) => program.stop()));
        await cluster.stop();
      },
    };
  },
};
