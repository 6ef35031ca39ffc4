import { expect, test } from "vitest";
import { needOf, type Costs, type Demand } from "./scale-model.ts";

const COSTS: Costs = {
  redis: {
    create: 100,
    sendWakeUp: 100,
    takeWakeUp: 100,
    claim: 100,
    settle: 100,
    progress: 50,
    step: 50,
    get: 10,
  },
  replica: { create: 200, get: 100, frame: 50 },
  worker: { run: 400 },
  bytes: { task: 4000, listener: 15_000 },
};

const DEMAND: Demand = {
  tasksPerSecond: 1000,
  listeners: 0,
  pollsPerTask: 0,
  changesPerTask: 0,
  stepsPerTask: 0,
  runSeconds: 0,
  keptSeconds: 100,
  concurrency: 100,
};

test("a thousand tasks a second at half a millisecond of Redis each keep half a core busy and fit one shard", () => {
  expect(needOf(DEMAND, COSTS)).toMatchObject({ redisBusy: 0.5, shards: 1, redisBytes: 400_000_000 });
});

test("twice as many need a second shard, and each shard adds the same again", () => {
  const shards = [1, 2, 3, 4].map((k) => needOf({ ...DEMAND, tasksPerSecond: 1200 * k }, COSTS).shards);
  expect(shards).toEqual([1, 2, 3, 4]);
});

test("polls, changes and steps are paid for by Redis once for each", () => {
  const busy = (changes: Partial<Demand>): number => needOf({ ...DEMAND, ...changes }, COSTS).redisBusy;
  expect(busy({ pollsPerTask: 10 })).toBeCloseTo(0.6);
  expect(busy({ changesPerTask: 2 })).toBeCloseTo(0.6);
  expect(busy({ stepsPerTask: 2 })).toBeCloseTo(0.6);
});

test("workers are as many as the CPU of the runs asks for, or their slots, whichever is more", () => {
  expect(needOf(DEMAND, COSTS).workers).toBe(1);
  expect(needOf({ ...DEMAND, runSeconds: 10 }, COSTS).workers).toBe(100);
});

test("listeners need replicas although nothing happens, and connections grow with processes and shards", () => {
  const need = needOf({ ...DEMAND, tasksPerSecond: 1, listeners: 100_000 }, COSTS);
  expect(need).toMatchObject({ replicas: 5, workers: 1, shards: 1, connections: 5 * 2 + 3 });
});
