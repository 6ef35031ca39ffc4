import { createRedisTasks, type RedisTasks } from "@perdure/redis";
import { createTaskService, mintTaskId, tenantRefOf, type NewTask, type TaskService } from "@perdure/tasks";
import type { Cluster } from "@perdure/testkit";
import type { Load, LoadResult } from "./programs/load.ts";
import type { Program } from "./programs/program.ts";

/*
 * What most benches stand on: the ports as a process has them, tasks that lie in the store, and a contender under load.
 */

/** Whose tasks they are, and whom the tokens of a bench speak for. */
export const OWNER = { tenant: "acme", principal: "alice" } as const;
export const TENANT_REF = tenantRefOf(OWNER.tenant);

/** For `PERDURE_*`: what a replica logs of each request is a choice of its operator, and is told as a figure of its own. */
export const QUIET = { PERDURE_LOG_LEVEL: "warn" } as const;

/** A task that is not stored yet; its arguments and result have about 1 KB. */
export function newTask(changes: Partial<NewTask> = {}): NewTask {
  return {
    taskId: mintTaskId(),
    owner: OWNER,
    scopes: [],
    method: "tools/call",
    params: `{"name":"bench_nothing","arguments":{"text":"${"a".repeat(900)}"}}`,
    tool: "bench_nothing",
    capabilities: '{"extensions":{"io.modelcontextprotocol/tasks":{}}}',
    ttlMs: 3_600_000,
    pollIntervalMs: 1000,
    ...changes,
  };
}

export const RESULT = `{"content":[{"type":"text","text":"${"b".repeat(800)}"}],"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"perdure","version":"0.1.0"}}}`;

/** The ports on a Redis, connected. */
export interface Ports extends RedisTasks {
  readonly service: TaskService;
}

/** Connects. Whoever asks for it stops it. */
export async function openPorts(
  redisUrl: string,
  options: { readonly leaseMs?: number; readonly durability?: "durable" | "fast" | "ephemeral" } = {},
): Promise<Ports> {
  const { leaseMs = 600_000, durability = "ephemeral" } = options;
  const redis = createRedisTasks({ redisUrl, leaseMs, durability, commandTimeoutMs: 20_000 });
  await redis.start();
  const service = createTaskService({
    store: redis.store,
    wakeUps: redis.wakeUps,
    onUnsentWakeUp: (_, error) => {
      throw error;
    },
  });
  return { ...redis, service };
}

/** Puts completed tasks into the store and gives their ids. */
export async function storeEnded({ store, leases }: Ports, count: number): Promise<string[]> {
  return inBatches(count, async () => {
    const task = newTask();
    await store.create(task);
    const reply = await leases.claim({ tenantRef: TENANT_REF, taskId: task.taskId });
    if (reply.verdict !== "claimed") throw new Error(`The task is not to be had: ${reply.verdict}`);
    await leases.settle(reply.task.claim, { status: "completed", result: RESULT });
    return task.taskId;
  });
}

/** Does something so many times, a hundred at once. */
export async function inBatches<Value>(
  count: number,
  make: (index: number) => Promise<Value>,
): Promise<Value[]> {
  const made: Value[] = [];
  while (made.length < count) {
    const first = made.length;
    const size = Math.min(100, count - first);
    made.push(...(await Promise.all(Array.from({ length: size }, (_, i) => make(first + i)))));
  }
  return made;
}

/** A server under load. */
export interface Contender {
  readonly port: number;
  readonly requests: readonly string[];
  /** Microseconds of CPU since it began. */
  readonly cpu: () => Promise<number>;
}

/** A load's result, and the server's CPU for one request in microseconds. */
export interface Loaded extends LoadResult {
  readonly cpuPerRequest: number;
}

/** Loads a server. Rejects when a response was no success. */
export async function load(
  generator: Program,
  { port, requests, cpu }: Contender,
  shape: Pick<Load, "concurrency" | "count" | "ms">,
): Promise<Loaded> {
  const first = await cpu();
  const before = await cpu();
  const result = await generator.ask<LoadResult>("run", { port, requests, ...shape });
  // Asking costs CPU too, as much as the first time of asking did.
  const cpuPerRequest = ((await cpu()) - before - (before - first)) / result.count;
  if (result.refused !== undefined) throw new Error(`A request was refused: ${result.refused.slice(0, 600)}`);
  return { ...result, cpuPerRequest };
}

/** Loads each in turn, and begins with another one in each round, so that no place in the row is better than another. */
export async function inTurn(
  contenders: readonly (() => Promise<Loaded>)[],
  round: number,
): Promise<readonly Loaded[]> {
  const results: Loaded[] = [];
  for (let turn = 0; turn < contenders.length; turn += 1) {
    const index = (round + turn) % contenders.length;
    results[index] = await contenders[index]!();
  }
  return results;
}

/** A sample of a role's own metrics. */
export async function metricOf({ opsUrl }: { readonly opsUrl: string }, name: string): Promise<number> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text();
  const sample = new RegExp(`^${name}\\{.*\\} (\\S+)$`, "m").exec(text);
  if (!sample) throw new Error(`There is no metric ${name}`);
  return Number(sample[1]);
}

/** Microseconds of CPU of a role since it began. */
export async function cpuOf(role: { readonly opsUrl: string }): Promise<number> {
  return 1e6 * (await metricOf(role, "process_cpu_seconds_total"));
}

/** The port of a replica's MCP endpoint. */
export function portOf({ replicas }: Pick<Cluster, "replicas">, replica = 0): number {
  const url = replicas[replica]?.url;
  if (url === undefined) throw new Error(`There is no replica ${replica}`);
  return Number(new URL(url).port);
}
