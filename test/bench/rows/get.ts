import { startCluster } from "@perdure/testkit";
import type { Bench } from "../bench.ts";
import { startProgram } from "../programs/program.ts";
import { cpuOf, inTurn, load, openPorts, portOf, QUIET, storeEnded, type Contender } from "../stand.ts";
import { httpRequest } from "../wire.ts";

/** Many, so that no task is polled faster than a replica serves. */
const TASKS = 4000;
const CONCURRENCY = 32;
/** Until the compiler has seen enough: the first ten thousand cost up to twice as much as the rest. */
const WARM_UP = { concurrency: CONCURRENCY, count: 12_000, ms: 8000 } as const;

/** The CPU of a poll of a completed task, by a token that the replica has seen, next to three servers that do less. */
export const get: Bench = {
  name: "get",
  figures: [
    {
      name: "get",
      title: "CPU per tasks/get, token verified (cached), one replica",
      unit: "µs",
      anchorTitle: "bare node:http + one Redis GET",
      target: { kind: "at most", score: 1.5 },
    },
    {
      name: "get-sdk",
      title: "CPU per tasks/get, against the official SDK server",
      unit: "µs",
      anchorTitle: "SDK on Express, from memory, without auth",
      target: { kind: "at most", score: 0.25 },
    },
    {
      name: "get-canned",
      title: "CPU per tasks/get, against a canned answer",
      unit: "µs",
      anchorTitle: "bare node:http, canned JSON",
    },
    {
      name: "get-logged",
      title: "CPU per tasks/get with a log line per request (level info)",
      unit: "µs",
      anchorTitle: "the same replica at level warn",
    },
  ],
  async open({ requests: count, sliceMs }) {
    const cluster = await startCluster({ replicas: 1, workers: 0, env: QUIET });
    await cluster.startReplica({ PERDURE_LOG_LEVEL: "info" });
    const ports = await openPorts(cluster.redis.url);
    const ids = await storeEnded(ports, TASKS);
    await ports.stop();
    const token = await cluster.token({ expiresInSeconds: 7200 });
    const requests = ids.map((taskId) =>
      httpRequest({ method: "tasks/get", params: { taskId }, token, name: taskId }),
    );
    const answer = await rawAnswer(cluster.replicas[0]!.url, requests[0]!);
    const anchors = await Promise.all([
      startProgram("anchors/http-server.ts", ["canned"]),
      startProgram("anchors/http-server.ts", ["redis-get", cluster.redis.url]),
      startProgram("anchors/sdk-server.ts"),
    ]);
    const generator = await startProgram("programs/load.ts");
    const [canned, redisGet, sdk] = await Promise.all(
      anchors.map(async (anchor): Promise<Contender> => {
        await anchor.ask("answerWith", answer);
        return { port: await anchor.ask<number>("port"), requests, cpu: anchor.cpu };
      }),
    );
    const replica = (index: number): Contender => ({
      port: portOf(cluster, index),
      requests,
      cpu: () => cpuOf(cluster.replicas[index]!),
    });
    const run = (contender: Contender) => () =>
      load(generator, contender, { concurrency: CONCURRENCY, count, ms: sliceMs });
    const all = [replica(0), replica(1), canned!, redisGet!, sdk!];
    for (const contender of all) await load(generator, contender, WARM_UP);
    const contenders = all.map(run);
    let rounds = 0;
    return {
      async round() {
        const results = await inTurn(contenders, rounds++);
        const [ours, logged, canned, redisGet, sdk] = [0, 1, 2, 3, 4].map((index) => results[index]!);
        const cpu = ours!.cpuPerRequest;
        return {
          get: {
            ours: cpu,
            anchor: redisGet!.cpuPerRequest,
            aside: {
              "per s": ours!.count / ours!.seconds,
              "anchor per s": redisGet!.count / redisGet!.seconds,
            },
          },
          "get-sdk": { ours: cpu, anchor: sdk!.cpuPerRequest },
          "get-canned": { ours: cpu, anchor: canned!.cpuPerRequest },
          "get-logged": { ours: logged!.cpuPerRequest, anchor: cpu },
        };
      },
      async close() {
        await Promise.all([generator, ...anchors].map((program) => program.stop()));
        await cluster.stop();
      },
    };
  },
};

/** The body that the replica answers with, so that the anchors send the same bytes. */
async function rawAnswer(url: string, request: string): Promise<string> {
  const [head = "", body = ""] = request.split("\r\n\r\n");
  const headers = head
    .split("\r\n")
    .slice(2)
    .map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)])
    .filter(([name]) => !["Connection", "Content-Length"].includes(name));
  const response = await fetch(url, { method: "POST", headers: Object.fromEntries(headers), body });
  if (response.status !== 200) throw new Error(`A first poll was answered with ${await response.text()}`);
  return response.text();
}
