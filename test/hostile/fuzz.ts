import { randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { createWireClient } from "@perdure/testkit";
import * as fc from "fast-check";
import { attacks } from "./attack.ts";
import type { Attack } from "./attack.ts";
import { residentMb } from "./replica-bench.ts";
import type { HostileBench } from "./replica-bench.ts";
import { verdictOn } from "./verdict.ts";
import type { Answer } from "./verdict.ts";
import { ATTACKERS } from "./victims.ts";

/** How much, and which. */
export interface FuzzOptions {
  readonly requests: number;
  readonly seed: number;
  /** Told now and then. */
  readonly say?: (line: string) => void;
}

/** What came of it. */
export interface FuzzReport {
  readonly seed: number;
  readonly requests: number;
  /** Answers by HTTP status; 0: hung up before the head came. */
  readonly statuses: ReadonlyMap<number, number>;
  /** How often each method was sent, and how often it gave a result. */
  readonly methods: ReadonlyMap<string, { readonly sent: number; readonly results: number }>;
  /** Resident memory of the replica when half of it was done, and at the end. */
  readonly warmMb: number;
  readonly endMb: number;
  /** Empty when all is well; else the smallest attack that was found, or what else is wrong. */
  readonly problems: readonly string[];
}

/** An attacker waits so long for an answer, and looks so long at a stream. */
const PATIENCE_MS = 1500;
const STREAM_MS = 120;
/** Requests that are in hand at once. */
const BATCH = 16;
/** In the second half. Bodies of a megabyte widen a heap at first; then it must stay as it is. */
const MAX_GROWTH_MB = 64;
const MAX_EVER_MB = 400;
const SHRINK_MS = 20_000;
const SERVED = /"result":|"notifications\/subscriptions\/acknowledged"/;

/** Attacks a replica. Whatever goes wrong is in the report; the same seed sends the same attacks, but for task ids. */
export async function fuzz(
  bench: HostileBench,
  { requests, seed, say = () => {} }: FuzzOptions,
): Promise<FuzzReport> {
  const { cluster, victims, port } = bench;
  const url = cluster.replicas[0]?.url ?? "";
  const tokens = await Promise.all(ATTACKERS.map((who) => cluster.token({ ...who, expiresInSeconds: 7200 })));
  const own: string[] = [];
  for (const token of tokens) {
    const client = createWireClient({ url, token });
    own.push(await client.create("keep_question", { secret: randomUUID() }));
  }
  const attack = attacks({ taskIds: [...victims.taskIds, ...Array.from({ length: 4 }, () => own).flat()] });
  const agent = new Agent({ keepAlive: true, maxSockets: BATCH * 2 });
  const statuses = new Map<number, number>();
  const methods = new Map<string, { sent: number; results: number }>();
  const problems: string[] = [];
  let sent = 0;
  let warmMb: number | undefined;

  const strike = async (one: Attack): Promise<readonly string[]> => {
    const answer = await sendAttack(one, { port, agent, token: tokens[one.attacker] });
    sent += 1;
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    const counted = methods.get(one.method) ?? { sent: 0, results: 0 };
    counted.sent += 1;
    if (SERVED.test(answer.body) || answer.status === 202) counted.results += 1;
    methods.set(one.method, counted);
    return verdictOn(one, answer, { victims, dir: cluster.dir });
  };

  const isOver = (): boolean => sent >= requests || problems.length > 0;
  for (let round = 0; !isOver(); round += 1) {
    const numRuns = Math.min(25, Math.ceil((requests - sent) / BATCH));
    const outcome = await fc.check(
      fc.asyncProperty(fc.array(attack, { minLength: BATCH, maxLength: BATCH }), async (batch) => {
        const found = (await Promise.all(batch.map(strike))).flat();
        if (found.length > 0) throw new Error(found.join("; "));
      }),
      { seed: seed + round, numRuns, endOnFailure: true },
    );
    if (outcome.failed) problems.push(...(await smallest(outcome.counterexample?.[0] ?? [], strike)));
    if (warmMb === undefined && sent >= requests / 2) warmMb = await residentMb(cluster);
    say(`${sent} requests, replica at ${Math.round(await residentMb(cluster))} MB`);
  }
  agent.destroy();
  const endMb = await residentMb(cluster);
  const grown = endMb - (warmMb ?? endMb);
  if (grown > MAX_GROWTH_MB) problems.push(`the replica grew by ${Math.round(grown)} MB`);
  problems.push(...(await bench.harm(MAX_EVER_MB)));
  const failed = (await cluster.logOf(cluster.replicas[0]!))
    .split("\n")
    .filter((line) => line.includes("Request failed"));
  problems.push(...failed.slice(0, 3).map((line) => `the replica's log: ${line}`));
  return { seed, requests: sent, statuses, methods, warmMb: warmMb ?? endMb, endMb, problems };
}

/** Of a batch that failed, the attacks that fail alone, each with what is wrong. */
async function smallest(
  batch: readonly Attack[],
  strike: (attack: Attack) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const deadline = performance.now() + SHRINK_MS;
  const alone: string[] = [];
  for (const one of batch) {
    if (performance.now() > deadline) break;
    const found = await strike(one);
    if (found.length > 0)
      alone.push(
        `${found.join("; ")}\n${JSON.stringify({ ...one, bodyText: one.bodyText.replaceAll(/(.)\1{100,}/g, "$1…").slice(0, 3000) })}`,
      );
  }
  return alone.length > 0 ? alone : [`a batch of ${batch.length} failed, and none of it does alone`];
}

interface Sender {
  readonly port: number;
  readonly agent: Agent;
  readonly token: string | undefined;
}

function sendAttack(attack: Attack, { port, agent, token }: Sender): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const body = Buffer.from(attack.bodyText);
  let status = 0;
  let headers: Answer["headers"] = {};
  let text = "";
  const give = (isCut: boolean): void => {
    clearTimeout(timer);
    resolve({ status, headers, body: text, isCut });
  };
  const outgoing = request({
    port,
    agent,
    method: "POST",
    path: "/mcp",
    headers: [
      ["host", `127.0.0.1:${port}`],
      ["authorization", token === undefined ? "Bearer e30.e30.e30" : `Bearer ${token}`],
      ["content-length", String(body.length)],
      ...attack.headers,
    ].flat(),
  });
  const hangUp = (): void => {
    give(true);
    outgoing.destroy();
  };
  let timer = setTimeout(hangUp, PATIENCE_MS);
  outgoing.on("response", (incoming) => {
    status = incoming.statusCode ?? 0;
    headers = incoming.headers;
    if (String(headers["content-type"]).startsWith("text/event-stream")) {
      clearTimeout(timer);
      timer = setTimeout(hangUp, STREAM_MS);
    }
    incoming.setEncoding("utf8");
    incoming.on("data", (chunk: string) => {
      text += chunk;
    });
    incoming.on("end", () => give(false));
    incoming.on("error", () => give(true));
  });
  // A connection that is closed before all of a body was taken may lose the answer that was on its way (RFC 9112 §9.6).
  outgoing.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "ECONNRESET" || error.code === "EPIPE") give(true);
    else reject(error);
  });
  outgoing.end(body);
  return promise;
}

/** The report, for people. */
export function presentFuzz({
  seed,
  requests,
  statuses,
  methods,
  warmMb,
  endMb,
  problems,
}: FuzzReport): string {
  const rows = [...methods].sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    `seed ${seed} · ${requests} requests · replica ${Math.round(warmMb)} MB half-way, ${Math.round(endMb)} MB at the end`,
    "",
    "| status | answers |",
    "|---|---|",
    ...[...statuses]
      .sort(([a], [b]) => a - b)
      .map(([status, n]) => `| ${status === 0 ? "hung up" : status} | ${n} |`),
    "",
    "| method | sent | served |",
    "|---|---|---|",
    ...rows.map(([method, { sent, results }]) => `| ${method} | ${sent} | ${results} |`),
    "",
    ...problems.map((problem) => `WRONG ${problem}`),
    problems.length === 0 ? "nothing wrong" : `${problems.length} wrong`,
  ].join("\n");
}
