import { describe } from "vitest";
import { describeChanges } from "./change-suite.ts";
import { describeDueTasks } from "./due-suite.ts";
import { describeEnds } from "./end-suite.ts";
import { describeLeases } from "./lease-suite.ts";
import { describeOwner } from "./owner-suite.ts";
import { describeParking } from "./park-suite.ts";
import type { MakeTaskPorts } from "./task-bench.ts";

/**
 * The contract of the ports of `@perdure/tasks`, as tests for any adapter of them. To be called in a vitest file.
 * `makePorts` is called several times with different times; all it makes must stand on one real store, and be ready to use.
 */
export function describeTaskPorts(name: string, makePorts: MakeTaskPorts): void {
  describe(`${name}: the ports of tasks`, () => {
    describeOwner(makePorts);
    describeLeases(makePorts);
    describeParking(makePorts);
    describeEnds(makePorts);
    describeDueTasks(makePorts);
    describeChanges(makePorts);
  });
}
