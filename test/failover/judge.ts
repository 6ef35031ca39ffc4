import { CLIENT_CHECKS } from "./checks/client-checks.ts";
import type { Check, Evidence, PromiseId, Violation } from "./checks/evidence.ts";
import { LIVENESS_CHECKS } from "./checks/liveness-checks.ts";
import { RECORD_CHECKS } from "./checks/record-checks.ts";
import { TOOL_CHECKS } from "./checks/tool-checks.ts";

/** Every check, in the order of the promises. */
export const CHECKS: readonly Check[] = [
  ...RECORD_CHECKS,
  ...CLIENT_CHECKS,
  ...TOOL_CHECKS,
  ...LIVENESS_CHECKS,
].toSorted((a, b) => numberOf(a.promise) - numberOf(b.promise));

/** What a check found. */
export interface Finding {
  readonly check: Check;
  /** How many things it looked at: none is no proof. */
  readonly looked: number;
  readonly violations: readonly Violation[];
}

/** Looks at the evidence with every check. */
export function judgeAll(evidence: Evidence): readonly Finding[] {
  return CHECKS.map((check) => {
    const violations: Violation[] = [];
    let looked = 0;
    check.look(evidence, {
      looked: (count = 1) => {
        looked += count;
      },
      violated: (said, taskId) =>
        violations.push({ promise: check.promise, said, ...(taskId !== undefined && { taskId }) }),
    });
    return { check, looked, violations };
  });
}

function numberOf(promise: PromiseId): number {
  return Number(promise.slice(1));
}
