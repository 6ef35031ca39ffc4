import { tenantRefOf } from "@perdure/tasks";
import type { Claim, ClaimedTask, TaskLeases } from "@perdure/tasks";

/*
 * For tests: a worker's hands, so that a test decides when a task does what.
 */

/** Claims and moves tasks of one tenant. */
export interface TaskHands {
  claim(taskId: string): Promise<ClaimedTask>;
  say(claim: Claim, message: string): Promise<void>;
  /** Asks one elicitation under each key. */
  ask(claim: Claim, ...keys: readonly string[]): Promise<void>;
  complete(claim: Claim, text: string): Promise<void>;
  fail(claim: Claim, error: object): Promise<void>;
}

export function handsOn(leases: TaskLeases, tenant: string): TaskHands {
  return {
    async claim(taskId) {
      const reply = await leases.claim({ tenantRef: tenantRefOf(tenant), taskId });
      if (reply.verdict !== "claimed") throw new Error(`Expected a claim, got ${reply.verdict}`);
      return reply.task;
    },
    say: async (claim, message) => must(await leases.progress(claim, message), "done"),
    async ask(claim, ...keys) {
      const requests = keys.map((key) => ({
        key,
        request: `{"method":"elicitation/create","params":{"mode":"form","message":"${key}?","requestedSchema":{"type":"object","properties":{}}}}`,
      }));
      must(await leases.park(claim, { requests, sleeps: [] }), "parked");
    },
    async complete(claim, text) {
      const result = JSON.stringify({ content: [{ type: "text", text }], resultType: "complete" });
      must(await leases.settle(claim, { status: "completed", result }), "done");
    },
    async fail(claim, error) {
      const settlement = { status: "failed", error: JSON.stringify(error), statusMessage: "failed" } as const;
      must(await leases.settle(claim, settlement), "done");
    },
  };
}

function must(reply: { readonly verdict: string }, verdict: string): void {
  if (reply.verdict !== verdict) throw new Error(`Expected ${verdict}, got ${JSON.stringify(reply)}`);
}
