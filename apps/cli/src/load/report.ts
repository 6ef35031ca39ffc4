import type { FeltFault } from "./recovery.ts";
import type { RoleUsage } from "./resources.ts";
import type { Counts, Latencies, Second } from "./timeline.ts";

/** What a load was and what came of it; the JSON report is just this. */
export interface LoadReport {
  readonly startedAt: string;
  readonly url: string;
  /** Tasks a second. */
  readonly rate: number | "max";
  readonly mix: Readonly<Record<string, number>>;
  readonly followers: Readonly<Record<string, number>>;
  /** How long tasks were made; then those that were open were followed to their end. */
  readonly loadSeconds: number;
  /** By how many tasks the load was behind the stated rate at worst: the server, or this machine, did not keep up. */
  readonly heldBack: number;
  readonly counts: Counts;
  /** Tasks that were acknowledged and then unknown, or had not ended when the time for that was over. */
  readonly lost: number;
  /** The first twenty of them. */
  readonly lostIds: readonly string[];
  readonly latencies: Latencies;
  readonly seconds: readonly Second[];
  readonly faults: readonly FeltFault[];
  readonly usage: readonly RoleUsage[];
}

/** What all processes of a role used over the load: cores and bytes. */
export interface RoleTotal {
  readonly role: string;
  readonly processes: number;
  readonly meanCpu: number;
  readonly maxCpu: number;
  readonly maxMemoryBytes: number;
}

/** Sums a report's samples up by role. */
export function roleTotals(usage: readonly RoleUsage[]): readonly RoleTotal[] {
  return [...Map.groupBy(usage, ({ role }) => role)].map(([role, samples]) => ({
    role,
    processes: Math.max(...samples.map(({ processes }) => processes)),
    meanCpu: samples.reduce((total, { cpu }) => total + cpu, 0) / samples.length,
    maxCpu: Math.max(...samples.map(({ cpu }) => cpu)),
    maxMemoryBytes: Math.max(...samples.map(({ memoryBytes }) => memoryBytes)),
  }));
}
