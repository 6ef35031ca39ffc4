import { TaskStoreError } from "@perdure/tasks";
import { expect, test } from "vitest";
import { createKeys } from "./keys.ts";
import { createRedisRateLimits } from "./redis-rate-limits.ts";

const owner = { tenant: "acme", principal: "alice" };
const RATES = { tenantRate: 1, principalRate: 1 };

/** Rates on a Redis whose script ends with that error. */
function ratesThatFail(error: Error) {
  const run = async () => {
    throw error;
  };
  return createRedisRateLimits({ keys: createKeys(1), scripts: { run } }, RATES);
}

test.each(["store_full", "store_readonly", "store_unavailable", "store_unknown_outcome"] as const)(
  "a request that cannot be counted (%s) is let through: its own step says what is wrong",
  async (code) => {
    const rates = ratesThatFail(new TaskStoreError(code, "no"));
    expect(await rates.take(owner)).toEqual({ verdict: "allowed" });
  },
);

test("a fault of ours is none of these", async () => {
  await expect(ratesThatFail(new TypeError("ours")).take(owner)).rejects.toThrow("ours");
});
