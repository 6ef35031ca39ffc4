import { mintTaskId } from "@perdure/tasks";
import type { Owner } from "@perdure/tasks";
import { expect, test, vi } from "vitest";
import { createOwnTasks } from "./own-tasks.ts";

const OWNER: Owner = { tenant: "acme", principal: "alice" };

test("I8: a malformed id costs the store what an unknown one costs, under an id that nobody has", async () => {
  const service = {
    read: vi.fn(async () => ({ verdict: "unknown" }) as const),
    answer: vi.fn(async () => ({ verdict: "unknown" }) as const),
    cancel: vi.fn(async () => ({ verdict: "unknown" }) as const),
  };
  const own = createOwnTasks(service);
  for (const taskId of [mintTaskId(), "", "short", `${mintTaskId()} `, "{s00}:due", "x".repeat(100_000)]) {
    expect(await own.read(OWNER, taskId)).toEqual({ verdict: "unknown" });
    expect(await own.answer(OWNER, taskId, [])).toEqual({ verdict: "unknown" });
    expect(await own.cancel(OWNER, taskId, "why")).toEqual({ verdict: "unknown" });
  }
  for (const step of [service.read, service.answer, service.cancel]) {
    expect(step).toHaveBeenCalledTimes(6);
    for (const call of step.mock.calls as unknown[][])
      expect(call[0]).toMatchObject({ owner: OWNER, taskId: expect.stringMatching(/^[\w-]{24}$/) });
  }
});
