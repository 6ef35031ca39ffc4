import { expect, test } from "vitest";
import { soak } from "./soak.ts";

test("I18: after load, expiry and torn down streams, heap, descriptors, timers, keys, memory and subscriptions are back", async () => {
  const { load, problems } = await soak({ durationMs: 6000, rate: 12, everyMs: 3000 });
  expect(problems).toEqual([]);
  expect(Math.min(...load.done.values())).toBeGreaterThan(2);
}, 240_000);
