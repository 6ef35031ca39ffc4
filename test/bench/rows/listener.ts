import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { startCluster } from "@perdure/testkit";
import type { Bench } from "../bench.ts";
import { startProgram } from "../programs/program.ts";
import { metricOf, openPorts, portOf, QUIET, storeEnded } from "../stand.ts";
import { listenRequest } from "./frame.ts";

const SETTLE_MS = 1500;
const COLLECT = fileURLToPath(new URL("../programs/collect-on-signal.ts", import.meta.url));
const ENV = { ...QUIET, NODE_OPTIONS: `--expose-gc --import=${COLLECT}` };

/** What a replica's memory grows by for each stream that is open and silent. Node's own share of a connection is in it. */
export const listener: Bench = {
  name: "listener",
  rounds: { whole: 3, quick: 1 },
  warmsUp: false,
  figures: [
    {
      name: "listener",
      title: "memory per idle listener",
      unit: "KB",
      target: { kind: "at most", score: 20 },
    },
  ],
  async open({ isQuick }) {
    const listeners = isQuick ? 2000 : 5000;
    return {
      // Memory that was freed is not given back at once: each round has a replica of its own.
      async round() {
        await using cluster = await startCluster({ replicas: 1, workers: 0, env: ENV });
        const replica = cluster.replicas[0]!;
        const ports = await openPorts(cluster.redis.url);
        const ids = await storeEnded(ports, 500);
        await ports.stop();
        const token = await cluster.token({ expiresInSeconds: 7200 });
        const requests = ids.map((id) => listenRequest(token, [id]));
        const clients = await startProgram("programs/listeners.ts");
        const openMore = async (count: number): Promise<{ resident: number; heap: number }> => {
          const all = Array.from({ length: count }, (_, i) => requests[i % requests.length]!);
          await clients.ask("open", { port: portOf(cluster), requests: all });
          for (let times = 0; times < 3; times += 1) {
            await delay(SETTLE_MS / 3);
            replica.signal("SIGUSR2");
          }
          await delay(SETTLE_MS);
          return {
            resident: await metricOf(replica, "process_resident_memory_bytes"),
            heap: await metricOf(replica, "nodejs_heap_size_used_bytes"),
          };
        };
        try {
          // The first ones make the code hot and the heap as large as it must be to work at all.
          const before = await openMore(1000);
          const after = await openMore(listeners);
          return {
            listener: {
              ours: (after.resident - before.resident) / listeners / 1000,
              aside: {
                "KB of heap": (after.heap - before.heap) / listeners / 1000,
                "replica MB": after.resident / 1e6,
              },
            },
          };
        } finally {
          await clients.stop();
        }
      },
      close: async () => {},
    };
  },
};
