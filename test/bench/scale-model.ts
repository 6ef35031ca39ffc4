import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { z } from "zod";
import type { Figure } from "./figures.ts";
import { readKept } from "./kept-figures.ts";
import { shown } from "./report/numbers.ts";

/*
 * What it takes for so many tasks per second and so many listeners:
 *
 *     node --conditions=perdure-source test/bench/scale-model.ts --tasks 500 --listeners 20000
 *
 * Measured costs, added up. It knows of no queueing and no
 * network; each part is planned to be busy for no more than a share of its time, and that share is the room for both.
 */

/** What one of a thing costs. Microseconds of one core, and bytes. */
export interface Costs {
  /** Of Redis, by step. */
  readonly redis: {
    readonly create: number;
    readonly sendWakeUp: number;
    readonly takeWakeUp: number;
    readonly claim: number;
    readonly settle: number;
    readonly progress: number;
    readonly step: number;
    readonly get: number;
  };
  /** Of a replica: one call that creates, one poll, one frame to one listener. */
  readonly replica: { readonly create: number; readonly get: number; readonly frame: number };
  /** Of a worker, for one run of a tool that does nothing. */
  readonly worker: { readonly run: number };
  readonly bytes: { readonly task: number; readonly listener: number };
}

/** What is asked of the whole. */
export interface Demand {
  readonly tasksPerSecond: number;
  readonly listeners: number;
  /** Of each task, in its whole life. */
  readonly pollsPerTask: number;
  readonly changesPerTask: number;
  readonly stepsPerTask: number;
  /** How long a run takes a slot of a worker. */
  readonly runSeconds: number;
  /** From its creation to its removal. */
  readonly keptSeconds: number;
  /** Slots of one worker process (`PERDURE_CONCURRENCY`). */
  readonly concurrency: number;
}

/** What it takes. */
export interface Need {
  /** Cores of Redis that are busy, all shards together. */
  readonly redisBusy: number;
  readonly redisBytes: number;
  readonly shards: number;
  readonly replicas: number;
  readonly workers: number;
  /** To all of Redis together. */
  readonly connections: number;
  /** Commands per second that come from workers with nothing to do. */
  readonly restCommands: number;
}

/** How busy a part is planned to be. Redis runs on one core, and its tail grows long before that core is full. */
const BUSY = { redis: 0.6, node: 0.7 } as const;
/** Streams of one replica (`maxListens`). */
const LISTENERS_PER_REPLICA = 20_000;
/** Of an idle worker: a glance each 0.8 s, a full look each 20 s, BullMQ's wait each 20 s and its stalled check each 5 s. */
const REST_PER_WORKER_AND_SHARD = 1 / 0.8 + 2 / 20 + 10 / 20 + 2 / 5;

/** Adds it up. */
export function needOf(demand: Demand, costs: Costs): Need {
  const { tasksPerSecond: rate, listeners } = demand;
  const { redis, replica, worker, bytes } = costs;
  const redisPerTask =
    redis.create +
    redis.sendWakeUp +
    redis.takeWakeUp +
    redis.claim +
    redis.settle +
    demand.changesPerTask * redis.progress +
    demand.stepsPerTask * redis.step +
    demand.pollsPerTask * redis.get;
  const framesPerTask = listeners > 0 ? demand.changesPerTask + 2 : 0;
  const redisBusy = (rate * (redisPerTask + framesPerTask * redis.get)) / 1e6;
  const shards = Math.max(1, Math.ceil(redisBusy / BUSY.redis));

  const replicaPerTask =
    replica.create + demand.pollsPerTask * replica.get + framesPerTask * (replica.frame + replica.get / 2);
  const replicasByCpu = Math.ceil((rate * replicaPerTask) / 1e6 / BUSY.node);
  const replicas = Math.max(1, replicasByCpu, Math.ceil(listeners / LISTENERS_PER_REPLICA));

  const workersByCpu = Math.ceil((rate * worker.run) / 1e6 / BUSY.node);
  const workersBySlots = Math.ceil((rate * demand.runSeconds) / demand.concurrency);
  const workers = Math.max(1, workersByCpu, workersBySlots);
  return {
    redisBusy,
    redisBytes: rate * demand.keptSeconds * bytes.task,
    shards,
    replicas,
    workers,
    connections: replicas * connectionsOf("replica", shards) + workers * connectionsOf("worker", shards),
    restCommands: workers * shards * REST_PER_WORKER_AND_SHARD,
  };
}

/**
 * Connections of a process. One for commands to each node, one for hints in a replica; in a worker BullMQ's own to each node,
 * and one that waits for each shard. One shard on a node is assumed, which is the most.
 */
export function connectionsOf(role: "replica" | "worker", shards: number): number {
  return role === "replica" ? shards + 1 : 3 * shards;
}

const keptCosts = z.object({
  redis: z.object({
    create: z.number(),
    sendWakeUp: z.number(),
    takeWakeUp: z.number(),
    claim: z.number(),
    settle: z.number(),
    progress: z.number(),
    step: z.number(),
    get: z.number(),
  }),
  bytesOfTask: z.number(),
});

/** CPU of a replica for one frame to one listener: thousands of frames of 1 KB were sent in slices, and divided. */
const FRAME_MICROSECONDS = 8;

/** What `costs.ts` and the last whole run of the bench have kept. */
export async function measuredCosts(): Promise<Costs> {
  const text = await readFile(new URL("costs.json", import.meta.url), "utf8");
  const { redis, bytesOfTask } = keptCosts.parse(JSON.parse(text));
  const { whole, quick } = await readKept();
  const figures = (whole ?? quick)?.figures ?? [];
  const figure = (name: string): Figure => {
    const found = figures.find((each) => each.name === name);
    if (!found) throw new Error(`figures.json has no "${name}": npm run bench -- --only ${name} --keep`);
    return found;
  };
  return {
    redis,
    replica: {
      create: figure("create-http").aside?.["µs CPU"] ?? Number.NaN,
      get: figure("get").ours,
      frame: FRAME_MICROSECONDS,
    },
    worker: { run: figure("whole").aside?.["worker µs CPU"] ?? Number.NaN },
    bytes: { task: bytesOfTask + DUE_BYTES, listener: 1000 * figure("listener").ours },
  };
}

/** Of the task's entry in `due`, and of Redis's own tables for one more key. */
const DUE_BYTES = 350;

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const number = { type: "string" } as const;
  const { values } = parseArgs({
    options: {
      tasks: number,
      listeners: number,
      polls: number,
      changes: number,
      steps: number,
      run: number,
      kept: number,
    },
  });
  const need = needOf(
    {
      tasksPerSecond: Number(values.tasks ?? 100),
      listeners: Number(values.listeners ?? 0),
      pollsPerTask: Number(values.polls ?? 5),
      changesPerTask: Number(values.changes ?? 2),
      stepsPerTask: Number(values.steps ?? 2),
      runSeconds: Number(values.run ?? 5),
      keptSeconds: Number(values.kept ?? 900),
      concurrency: 100,
    },
    await measuredCosts(),
  );
  console.log(
    `Redis      ${need.shards} shards, ${shown(need.redisBusy)} cores busy, ${shown(need.redisBytes / 1e9)} GB`,
  );
  console.log(`replicas   ${need.replicas}`);
  console.log(`workers    ${need.workers} with 100 slots each`);
  console.log(
    `at Redis   ${need.connections} connections, ${shown(need.restCommands)} commands/s while nothing happens`,
  );
}
