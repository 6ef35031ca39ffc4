import type { Check, ScenarioResult } from "./suite.ts";

/** How many checks passed and failed; warnings and skips count as neither. */
export interface Totals {
  readonly passed: number;
  readonly failed: number;
}

/** The sums over all scenarios. */
export function totalsOf(results: readonly ScenarioResult[]): Totals {
  const checks = results.flatMap((result) => result.checks);
  return { passed: count(checks, "SUCCESS"), failed: count(checks, "FAILURE") };
}

/** A table with a line per scenario, then every failure, warning and skip with its name and what the suite said. */
export function presentReport(results: readonly ScenarioResult[]): string {
  const width = Math.max(...results.map((result) => result.scenario.length));
  const rows = results.map(({ scenario, checks }) => {
    const cells = (["SUCCESS", "FAILURE", "WARNING", "SKIPPED"] as const).map((status) => {
      const n = count(checks, status);
      return (n === 0 ? "·" : String(n)).padStart(7);
    });
    return `${scenario.padEnd(width)} ${cells.join(" ")}`;
  });
  const head = `${"scenario".padEnd(width)} ${["passed", "failed", "warned", "skipped"].map((w) => w.padStart(7)).join(" ")}`;
  const notes = (["SKIPPED", "WARNING", "FAILURE"] as const).flatMap((status) =>
    results.flatMap(({ scenario, checks }) =>
      checks
        .filter((check) => check.status === status)
        .map((check) => `${status} ${scenario} / ${check.id}: ${check.errorMessage ?? check.description}`),
    ),
  );
  return ["", head, ...rows, "", ...notes].join("\n");
}

function count(checks: readonly Check[], status: Check["status"]): number {
  return checks.filter((check) => check.status === status).length;
}
