import { TaskStoreError, tenantRefOf } from "@perdure/tasks";
import type { RateLimits } from "@perdure/tasks";
import { z } from "zod";
import type { RedisStore } from "./redis-store.ts";
import { parseReply, verdict, whole } from "./replies.ts";

const rateReply = z.union([
  verdict("allowed"),
  z
    .tuple([z.literal("limited"), z.enum(["tenant", "principal"]), whole])
    .transform(([verdict, limit, retryAfterMs]) => ({ verdict, limit, retryAfterMs })),
]);

/** Longer than this no request waits to be counted. */
const COUNT_MS = 100;

/** Requests a second that may pass; 0 for any number. */
export interface RequestRates {
  readonly tenantRate: number;
  readonly principalRate: number;
}

/**
 * {@link RateLimits} in Redis time: one round trip for a request, and none when there is no limit. A Redis that is
 * full, slow or gone counts nothing, and lets requests pass: the step that each was sent for says what is wrong.
 */
export function createRedisRateLimits(
  { scripts, keys }: Pick<RedisStore, "scripts" | "keys">,
  { tenantRate, principalRate }: RequestRates,
): RateLimits {
  return {
    async take({ tenant, principal }) {
      if (tenantRate === 0 && principalRate === 0) return { verdict: "allowed" };
      try {
        const reply = await scripts.run("take-rate", {
          keys: keys.ofRates(tenantRefOf(tenant), principal),
          args: { tenantRate, principalRate },
          limitMs: COUNT_MS,
        });
        return parseReply("take-rate", rateReply, reply);
      } catch (error) {
        if (error instanceof TaskStoreError) return { verdict: "allowed" };
        throw error;
      }
    },
  };
}
