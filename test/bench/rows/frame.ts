import { startCluster, until } from "@perdure/testkit";
import type { Bench } from "../bench.ts";
import { startProgram, type Program } from "../programs/program.ts";
import { portOf, QUIET } from "../stand.ts";
import { quantileOf } from "../statistics.ts";
import { httpRequest } from "../wire.ts";

const LISTENERS = 1000;
const PER_SECOND = 200;
const SLACK_MS = 5;

/** From the moment in which a worker sends a change to the moment in which a client has the frame. */
export const frame: Bench = {
  name: "frame",
  figures: [
    {
      name: "frame",
      title: "commit on a worker → frame at a listener, p99, 1,000 listeners, 200 commits/s",
      unit: "ms",
      anchorTitle: "raw Redis pub/sub, p99",
      target: { kind: "at most", score: 1 },
      scoreOf: ({ ours, anchor = 0 }) => ours / (2 * anchor + SLACK_MS),
      scoreUnit: "of 2 × anchor + 5 ms",
    },
  ],
  async open({ isQuick }) {
    const seconds = isQuick ? 3 : 8;
    const cluster = await startCluster({ replicas: 1, workers: 0, env: QUIET });
    const { url } = cluster.redis;
    const [committer, listeners, publisher, subscriber] = await Promise.all([
      startProgram("programs/committer.ts", [url]),
      startProgram("programs/listeners.ts"),
      startProgram("anchors/pubsub.ts", [url]),
      startProgram("anchors/pubsub.ts", [url]),
    ]);
    const token = await cluster.token({ expiresInSeconds: 7200 });
    const ids = await committer.ask<string[]>("hold", LISTENERS);
    await subscriber.ask("subscribe");
    await listeners.ask("open", {
      port: portOf(cluster),
      requests: ids.map((id) => listenRequest(token, [id])),
    });

    const agesOf = async (from: Program, to: Program): Promise<number[]> => {
      await to.ask("takeAges");
      await from.ask("commit", { perSecond: PER_SECOND, seconds });
      const isThere = async (): Promise<boolean> => (await to.ask<number>("count")) >= PER_SECOND * seconds;
      await until(isThere, { what: "the last frame", timeoutMs: 20_000 });
      return to.ask<number[]>("takeAges");
    };
    return {
      async round() {
        const [frames, messages] = [await agesOf(committer, listeners), await agesOf(publisher, subscriber)];
        return {
          frame: {
            ours: quantileOf(frames, 0.99),
            anchor: quantileOf(messages, 0.99),
            aside: { "p50 ms": quantileOf(frames, 0.5), "anchor p50 ms": quantileOf(messages, 0.5) },
          },
        };
      },
      async close() {
        await Promise.all([committer, listeners, publisher, subscriber].map((program) => program.stop()));
        await cluster.stop();
      },
    };
  },
};

/** Opens a stream of the given tasks. */
export function listenRequest(token: string, taskIds: readonly string[]): string {
  return httpRequest({ method: "subscriptions/listen", params: { notifications: { taskIds } }, token });
}
