import { execFile } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { type Cluster, type WireClient, type WireReply, until } from "@perdure/testkit";
import { expect } from "vitest";
import { createProbe } from "../cluster/probe.ts";

/** What a client may wait for an answer, whatever is wrong with Redis. */
export const ANSWER_MS = 2000;

/** An answer of a replica, whose client it was, and how long it took. */
export interface TimedReply extends WireReply {
  readonly client: WireClient;
  readonly tookMs: number;
}

/** Sends, and takes the time. */
export async function timed(
  client: WireClient,
  send: (client: WireClient) => Promise<WireReply>,
): Promise<TimedReply> {
  const askedAt = performance.now();
  const reply = await send(client);
  return { ...reply, client, tookMs: performance.now() - askedAt };
}

/** The call of a tool that becomes a task and soon waits for two answers. */
export const ask = (client: WireClient): Promise<WireReply> =>
  client.post("tools/call", { name: "ask_two", arguments: createProbe().args });

/** An answer is a success, or the store's refusal as clients can use it: an error of JSON-RPC, and when to come again. */
export function expectAnswered(replies: readonly TimedReply[]): void {
  const slowest = Math.max(...replies.map(({ tookMs }) => tookMs));
  expect(slowest).toBeLessThan(ANSWER_MS);
  for (const { httpStatus, headers, error, result, text } of replies) {
    if (result !== undefined) continue;
    expect({ httpStatus, code: error?.code, text }).toEqual({ httpStatus: 503, code: -32603, text });
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  }
}

/** The answers that no store was needed for, or that it gave. */
export const isSuccess = ({ result }: WireReply): boolean => result !== undefined;

/** The id of the task that a successful creation has made. */
export function createdId({ result }: WireReply): readonly string[] {
  return typeof result?.["taskId"] === "string" ? [result["taskId"]] : [];
}

/** Clients that ask and ask, each one question at a time, until they are told to stop. */
export interface Asking extends AsyncDisposable {
  readonly replies: readonly TimedReply[];
  stop(): Promise<readonly TimedReply[]>;
}

const PAUSE_MS = 400;

/** Each client creates a task, reads it, and rests for a moment. */
export function startAsking(clients: readonly WireClient[]): Asking {
  const replies: TimedReply[] = [];
  const ending = new AbortController();
  const loops = clients.map(async (client) => {
    while (!ending.signal.aborted) {
      const creation = await timed(client, ask);
      replies.push(creation);
      for (const taskId of createdId(creation))
        replies.push(await timed(client, () => client.post("tasks/get", { taskId })));
      await delay(PAUSE_MS);
    }
  });
  const stop = async (): Promise<readonly TimedReply[]> => {
    ending.abort();
    await Promise.all(loops);
    return replies;
  };
  return {
    replies,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}

/** Sends as many requests as that, so many at a time. */
export async function burst(
  client: WireClient,
  { requests, atOnce }: { readonly requests: number; readonly atOnce: number },
): Promise<readonly TimedReply[]> {
  const replies: TimedReply[] = [];
  let left = requests;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left > 0) {
        left -= 1;
        replies.push(await timed(client, ask));
      }
    }),
  );
  return replies;
}

/** What `/readyz` says. */
export interface Readiness {
  readonly status: number;
  readonly text: string;
}

/** Asks a role. */
export async function readiness(opsUrl: string): Promise<Readiness> {
  const response = await fetch(`${opsUrl}/readyz`);
  return { status: response.status, text: await response.text() };
}

/** Waits until every role has said on `/readyz` what is wrong, in words that match. */
export function untilTroubled(cluster: Cluster, words: RegExp, timeoutMs = 8000): Promise<void> {
  const isIt = ({ status, text }: Readiness): boolean => status === 503 && words.test(text);
  return untilAllSay(cluster, isIt, { what: `to say ${words}`, timeoutMs });
}

/** Waits until every role is ready, all by itself. */
export function untilReady(cluster: Cluster, timeoutMs = 20_000): Promise<void> {
  return untilAllSay(cluster, ({ status }) => status === 200, { what: "to be ready again", timeoutMs });
}

async function untilAllSay(
  { replicas, workers }: Cluster,
  isIt: (said: Readiness) => boolean,
  { what, timeoutMs }: { readonly what: string; readonly timeoutMs: number },
): Promise<void> {
  await Promise.all(
    [...replicas, ...workers].map(async ({ name, opsUrl }) => {
      let last = "";
      const says = async (): Promise<boolean> => {
        const said = await readiness(opsUrl);
        last = said.text;
        return isIt(said);
      };
      await until(says, { what: `${name} ${what}`, timeoutMs }).catch((error: unknown) => {
        throw new Error(`${name} says ${last}`, { cause: error });
      });
    }),
  );
}

/** The memory of a process in RAM, in megabytes. */
export async function memoryMb(pid: number): Promise<number> {
  const { stdout } = await promisify(execFile)("ps", ["-o", "rss=", "-p", String(pid)]);
  return Number(stdout) / 1024;
}
