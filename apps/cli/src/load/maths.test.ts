import { describe, expect, test } from "vitest";
import { niceLimit } from "./chart.ts";
import { Histogram } from "./histogram.ts";
import { parseMix, takeTurns } from "./mix.ts";
import { feltFaults } from "./recovery.ts";
import { roleTotals } from "./report.ts";
import { byRole, readUsage } from "./resources.ts";
import { type Second, Timeline } from "./timeline.ts";
import { readAnswer } from "./wire.ts";

const second = (at: number, completed: number, failedRequests = 0): Second => ({
  at,
  created: completed,
  completed,
  failedRequests,
  createP50: 1,
  createP99: 2,
  taskP50: 1,
  taskP99: 2,
});

describe("percentiles", () => {
  test("are those of the sorted times, to 2 %", () => {
    const histogram = new Histogram();
    const times = Array.from({ length: 1000 }, (_, at) => (at * 7919) % 1000).map((n) => n + 1);
    for (const ms of times) histogram.add(ms);
    for (const p of [0.01, 0.5, 0.9, 0.99]) {
      expect(histogram.percentile(p) / (p * 1000)).toBeGreaterThanOrEqual(1);
      expect(histogram.percentile(p) / (p * 1000)).toBeLessThan(1.021);
    }
    expect(histogram.summary()).toMatchObject({ count: 1000, max: 1000 });
  });

  test("of nothing are 0, and of one time are that time", () => {
    const histogram = new Histogram();
    expect(histogram.summary()).toEqual({ count: 0, p50: 0, p90: 0, p99: 0, max: 0 });
    histogram.add(42);
    expect(histogram.summary()).toEqual({ count: 1, p50: 42, p90: 42, p99: 42, max: 42 });
  });
});

describe("the mix", () => {
  test("is kept in any stretch of calls", () => {
    const next = takeTurns(parseMix("plain=4,stepped=2,input=1,sleep=1"));
    const kinds = Array.from({ length: 16 }, next);
    const count = (kind: string): number => kinds.slice(3, 11).filter((one) => one === kind).length;
    expect(["plain", "stepped", "input", "sleep"].map(count)).toEqual([4, 2, 1, 1]);
  });

  test.each(["slow=1", "plain=x", "plain=0", ""])("%j is refused", (text) => {
    expect(() => parseMix(text)).toThrow(/is no kind|has no weight|is empty/);
  });
});

describe("a frame", () => {
  const timeline = (): Timeline => new Timeline(() => 0);

  test("is late when it comes over a second after its change", () => {
    const told = timeline();
    for (const lag of [5, 20, 900, 1500, 4000]) told.frame(10_000, 10_000 + lag);
    expect(told.counts()).toMatchObject({ frames: 5, lateFrames: 2 });
  });

  test("is not late because the server's clock is behind", () => {
    const told = timeline();
    for (const lag of [5, 20, 900]) told.frame(10_000, 70_000 + lag);
    expect(told.counts()).toMatchObject({ frames: 3, lateFrames: 0 });
  });
});

describe("a fault", () => {
  const steady = Array.from({ length: 10 }, (_, at) => second(at, 20));

  test("is felt until tasks end at their pace again and no request fails", () => {
    const seconds = [
      ...steady,
      second(10, 3, 9),
      second(11, 0, 4),
      second(12, 12),
      second(13, 25),
      second(14, 21),
    ];
    expect(feltFaults([{ name: "kill", at: 10.4 }], seconds)).toEqual([
      { name: "kill", at: 10.4, recoverSeconds: expect.closeTo(1.6) },
    ]);
  });

  test("that changes nothing is not felt", () => {
    expect(feltFaults([{ name: "kill", at: 5.2, until: 7 }], steady)).toMatchObject([{ recoverSeconds: 0 }]);
  });

  test("from which nothing recovers says so", () => {
    const [felt] = feltFaults([{ name: "kill", at: 10 }], [...steady, second(10, 0), second(11, 1)]);
    expect(felt).toEqual({ name: "kill", at: 10 });
  });
});

test("each second counts what happened in it", () => {
  let nowMs = 0;
  const timeline = new Timeline(() => nowMs);
  timeline.created(5);
  nowMs = 2500;
  timeline.completed("plain", 2500);
  timeline.failed("HTTP 503");
  timeline.failed("HTTP 503");
  expect(
    timeline.seconds().map(({ created, completed, failedRequests }) => [created, completed, failedRequests]),
  ).toEqual([
    [1, 0, 0],
    [0, 0, 0],
    [0, 1, 2],
  ]);
  expect(timeline.counts().failures).toEqual({ "HTTP 503": 2 });
  expect(timeline.latencies().task.plain.max).toBe(2500);
});

test.each([
  [200, '{"result":{"resultType":"task"}}', { ok: true, result: { resultType: "task" } }],
  [
    200,
    '{"error":{"code":-32602,"message":"Task not found"}}',
    { ok: false, reason: "-32602 Task not found" },
  ],
  [503, '{"error":{"code":-32603,"message":"Redis"}}', { ok: false, reason: "HTTP 503" }],
  [401, "", { ok: false, reason: "HTTP 401" }],
  [502, "<html>", { ok: false, reason: "HTTP 502" }],
])("HTTP %i with %j is read as %j", (status, text, answer) => {
  expect(readAnswer(status, text)).toEqual(answer);
});

test("what processes use is added up by role", () => {
  const text =
    'process_cpu_seconds_total{role="api"} 1.5\nprocess_resident_memory_bytes{role="api"} 90000000\n';
  expect(readUsage(text)).toEqual({ role: "api", cpuSeconds: 1.5, memoryBytes: 90_000_000 });
  expect(readUsage("up 1")).toBeUndefined();
  const usage = [
    ...byRole(
      [
        { role: "api", cpu: 0.5, memoryBytes: 10 },
        { role: "api", cpu: 0.25, memoryBytes: 30 },
      ],
      1,
    ),
    ...byRole([{ role: "api", cpu: 0.25, memoryBytes: 50 }], 2),
  ];
  expect(roleTotals(usage)).toEqual([
    { role: "api", processes: 2, meanCpu: 0.5, maxCpu: 0.75, maxMemoryBytes: 50 },
  ]);
});

test.each([
  [0, 1],
  [0.3, 0.5],
  [17, 20],
  [21, 25],
  [100, 100],
  [101, 200],
])("an axis for %d ends at %d", (value, limit) => {
  expect(niceLimit(value)).toBeCloseTo(limit);
});
