import type { TaskSnapshot } from "@perdure/tasks";
import { expect, test } from "vitest";
import { presentDetailedTask, presentTask } from "./present-task.ts";

const base: TaskSnapshot = {
  taskId: "abcdefghijklmnopqrstuvwx",
  status: "working",
  createdAtMs: Date.UTC(2026, 6, 28, 1, 2, 3, 4),
  lastUpdatedAtMs: Date.UTC(2026, 6, 28, 1, 2, 4),
  ttlMs: 900_000,
  pollIntervalMs: 1000,
  ver: 1,
};
const parse = (members: string): unknown => JSON.parse(`{${members}}`);

test("a task has ISO timestamps, whole milliseconds and its message", () => {
  expect(parse(presentDetailedTask({ ...base, statusMessage: 'a "quoted"\nline', ttlMs: 1500.7 }))).toEqual({
    taskId: base.taskId,
    status: "working",
    statusMessage: 'a "quoted"\nline',
    createdAt: "2026-07-28T01:02:03.004Z",
    lastUpdatedAt: "2026-07-28T01:02:04.000Z",
    ttlMs: 1500,
    pollIntervalMs: 1000,
  });
});

test.each([
  ["input_required", "inputRequests", { inputRequests: '{"k":{"method":"roots/list","params":{}}}' }],
  ["completed", "result", { result: '{"content":[],"n":1.0,"big":12345678901234567890}' }],
  ["failed", "error", { error: '{"code":-32603,"message":"Task has expired"}' }],
] as const)("the payload of %s is put in as it was stored, letter by letter", (status, name, payload) => {
  const text = presentDetailedTask({ ...base, status, ...payload });
  expect(text.endsWith(`,"${name}":${Object.values(payload)[0]}`)).toBe(true);
  expect(presentTask({ ...base, status, ...payload })).not.toContain(`"${name}"`);
});

test("a cancelled task has no payload", () => {
  expect(parse(presentDetailedTask({ ...base, status: "cancelled" }))).not.toHaveProperty("result");
});
