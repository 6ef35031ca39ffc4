import { createLog, createMetrics } from "@perdure/runtime";
import type { DueTasks, TaskRef } from "@perdure/tasks";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createFakeDue, createFakeWakeUps, makeClaimedTask } from "./fake-ports.ts";
import { createReconcileLoop } from "./reconcile-loop.ts";

function startLoop(given: Partial<DueTasks>) {
  const lines: string[] = [];
  const metrics = createMetrics({ role: "worker" });
  const wakeUps = createFakeWakeUps();
  const take = vi.fn(given.take ?? (() => Promise.resolve([])));
  const loop = createReconcileLoop({
    due: createFakeDue({ ...given, take }),
    wakeUps,
    log: createLog({ level: "debug", role: "worker", destination: { write: (line) => lines.push(line) } }),
    metrics,
    random: () => 0.999,
  });
  loop.start();
  return { loop, take, lines, wakeUps, metrics };
}

const ref: TaskRef = makeClaimedTask().claim.ref;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("at rest it looks about once a second, so that a dead lease is found within a second of its end", async () => {
  const { loop, take } = startLoop({});
  await vi.advanceTimersByTimeAsync(60_000);
  expect(take.mock.calls.length).toBeGreaterThan(60);
  expect(take.mock.calls.length).toBeLessThan(120);
  await loop.stop();
});

test("a full pass is followed by another at once", async () => {
  const { loop, take } = startLoop({
    take: (limit) => Promise.resolve(Array.from({ length: limit }, () => ref)),
  });
  await vi.advanceTimersByTimeAsync(1000);
  expect(take.mock.calls.length).toBeGreaterThan(20);
  await loop.stop();
});

test("a dead lease is counted, told, and its task woken", async () => {
  const wakeUp = { ref, wake: 2, epoch: 1 };
  const taken = [[ref]];
  const { loop, wakeUps, lines, metrics } = startLoop({
    take: () => Promise.resolve(taken.pop() ?? []),
    rouse: () => Promise.resolve({ verdict: "wake", wakeUp, cause: "lease-ended" }),
  });
  await vi.advanceTimersByTimeAsync(1000);
  expect(wakeUps.sent).toEqual([wakeUp]);
  expect(lines.join("")).toContain(ref.taskId);
  expect(await metrics.render()).toContain('perdure_lease_takeovers_total{role="worker"} 1');
  await loop.stop();
});

test("an outage is told once, and the loop goes on", async () => {
  let isAway = true;
  const { loop, lines, take } = startLoop({
    take: () => (isAway ? Promise.reject(new Error("away")) : Promise.resolve([])),
  });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(lines).toHaveLength(1);
  isAway = false;
  await vi.advanceTimersByTimeAsync(5000);
  expect(lines).toHaveLength(2);
  expect(take.mock.calls.length).toBeGreaterThan(8);
  await loop.stop();
});

test("a stop waits for the pass in hand and begins no other", async () => {
  const { promise, resolve } = Promise.withResolvers<readonly TaskRef[]>();
  const { loop, take } = startLoop({ take: () => promise });
  await vi.advanceTimersByTimeAsync(1000);
  let isStopped = false;
  const stopped = loop.stop().then(() => (isStopped = true));
  await vi.advanceTimersByTimeAsync(1000);
  expect(isStopped).toBe(false);
  resolve([]);
  await stopped;
  await vi.advanceTimersByTimeAsync(5000);
  expect(take).toHaveBeenCalledTimes(1);
  expect(vi.getTimerCount()).toBe(0);
});
