import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createRedisTasks } from "@perdure/redis";
import { ensureRedisServer, parseRedisBinary, startRedisServer } from "@perdure/redis-server";
import { startRedis } from "@perdure/testkit";
import { Redis } from "ioredis";
import { KINDS, lostOf, workUntilGone } from "./acknowledged.ts";
import type { Acknowledged } from "./acknowledged.ts";
import { shimRedis } from "./fsync-shim.ts";

/** The classes that keep something, and what Redis does for each. */
export const APPENDFSYNC = { durable: "always", fast: "everysec" } as const;

/** A class of durability that keeps something. */
export type KeepingClass = keyof typeof APPENDFSYNC;

/** What was there after the server was killed, and after the power was gone too. */
export interface PowerLoss {
  readonly durability: KeepingClass;
  readonly acknowledged: readonly Acknowledged[];
  readonly lostByKill: readonly Acknowledged[];
  readonly lostByPower: readonly Acknowledged[];
  /** When the server was killed, in milliseconds since the epoch. */
  readonly killedAtMs: number;
  /** Written by the server, and not on the disk. */
  readonly bytesTaken: number;
  readonly fsyncs: number;
  readonly longestFsyncMs: number;
}

const CLIENTS = 16;
const REWRITE_AFTER_MS = 200;
const WORK_MS = { least: 700, most: 2700 };

/**
 * Clients work on a Redis of the class; it rewrites its append-only file meanwhile, and is killed at a moment that
 * `random` (from 0 to 1) chooses. What they were told is looked for in what the kill left, and in what is left without
 * the bytes that no fsync had covered.
 */
export async function losePower(durability: KeepingClass, random: number): Promise<PowerLoss> {
  const dir = await mkdtemp(join(tmpdir(), "perdure-power-"));
  try {
    return await losePowerIn(dir, durability, random);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function losePowerIn(dir: string, durability: KeepingClass, random: number): Promise<PowerLoss> {
  const appendfsync = APPENDFSYNC[durability];
  const [data, afterKill] = [join(dir, "data"), join(dir, "after-kill")];
  const shimmed = await shimRedis(await redisProgram(), join(dir, "shim"));
  const server = await startRedisServer({
    binary: { kind: "program", path: shimmed.program },
    dir: data,
    appendfsync,
  });
  const tasks = createRedisTasks({ redisUrl: server.url, leaseMs: 60_000, durability });
  let acknowledged: readonly Acknowledged[];
  let killedAtMs: number;
  try {
    await tasks.start();
    const working = workUntilGone(tasks, CLIENTS);
    await wait(REWRITE_AFTER_MS);
    await rewriteAof(server.url);
    await wait(WORK_MS.least + random * (WORK_MS.most - WORK_MS.least));
    killedAtMs = Date.now();
    await server.kill();
    await tasks.stop();
    acknowledged = await working;
  } finally {
    await server.kill();
    await tasks.stop();
  }
  await cp(data, afterKill, { recursive: true });
  const fsyncs = await shimmed.fsyncs();
  const bytesTaken = await shimmed.cutPower(data);
  return {
    durability,
    acknowledged,
    lostByKill: await lostIn(afterKill, acknowledged),
    lostByPower: await lostIn(data, acknowledged),
    killedAtMs,
    bytesTaken,
    fsyncs: fsyncs.length,
    longestFsyncMs: Math.max(0, ...fsyncs.map(({ beganMs, endedMs }) => endedMs - beganMs)),
  };
}

async function redisProgram(): Promise<string> {
  const given = process.env["PERDURE_REDIS_BINARY"];
  const binary = given ? parseRedisBinary(given) : await ensureRedisServer({ say: console.error });
  if (binary.kind === "program") return binary.path;
  throw new Error(
    "What is on the disk can be seen of a redis-server on this machine alone, not of a container's",
  );
}

async function rewriteAof(url: string): Promise<void> {
  await using side = connect(url);
  await side.redis.bgrewriteaof();
}

function connect(url: string): AsyncDisposable & { readonly redis: Redis } {
  const redis = new Redis(url);
  redis.on("error", () => {});
  return { redis, [Symbol.asyncDispose]: async () => redis.disconnect() };
}

async function lostIn(dir: string, acknowledged: readonly Acknowledged[]): Promise<readonly Acknowledged[]> {
  await using server = await startRedis({ dir, appendfsync: "everysec" });
  await using side = connect(server.url);
  const lost = await lostOf(side.redis, acknowledged);
  return lost;
}

/** How long before the kill the oldest of these was acknowledged, in milliseconds; 0 for none. */
export function ageOfOldest({ killedAtMs }: PowerLoss, lost: readonly Acknowledged[]): number {
  return lost.reduce((oldest, { atMs }) => Math.max(oldest, killedAtMs - atMs), 0);
}

/** The figures, a row for each. */
export function tableOf(losses: readonly PowerLoss[]): string {
  const rows = losses.map((loss) => [
    loss.durability,
    ...KINDS.map((kind) => {
      const count = (of: readonly Acknowledged[]): number => of.filter((one) => one.kind === kind).length;
      return `${count(loss.lostByPower)}/${count(loss.acknowledged)}`;
    }),
    String(loss.lostByKill.length),
    `${ageOfOldest(loss, loss.lostByPower)} ms`,
    String(loss.bytesTaken),
    String(loss.fsyncs),
    `${loss.longestFsyncMs} ms`,
  ]);
  const heads = ["class", ...KINDS, "by kill alone", "oldest lost", "bytes cut", "fsyncs", "longest"];
  const widths = heads.map((head, at) => Math.max(head.length, ...rows.map((row) => row[at]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, at) => cell.padStart(widths[at] ?? 0)).join("  ");
  return ["Lost of what was acknowledged, in a loss of power:", line(heads), ...rows.map(line)].join("\n");
}
