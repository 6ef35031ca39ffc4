import type { ToolLine } from "../tool-line.ts";
import { type Check, type Evidence, changesOf, endOf } from "./evidence.ts";

/** A process that stood still does at most what it was about to do, within this time of its waking. */
const AWAKE_MS = 250;
/** A worker hears of a cancel at its next heartbeat, and stops believing in a lost lease before it ends. */
const STOP_MS = 1000;

const hasJustWoken = ({ freezes }: Evidence, { pid, at }: ToolLine): boolean =>
  freezes.some((freeze) => freeze.pid === pid && at >= freeze.from && at <= freeze.to + AWAKE_MS);

/** What tools did in the world, held against what the audit tells. */
export const TOOL_CHECKS: readonly Check[] = [
  {
    promise: "I1",
    title: "a step that was recorded never runs again",
    sides: ["tools", "audit"],
    look(evidence, judge) {
      for (const [taskId, lines] of evidence.tools) {
        const recorded = new Map(
          changesOf(evidence.audit.get(taskId) ?? [])
            .filter(({ script }) => script === "record-step")
            .map(({ name, at }) => [name, at]),
        );
        for (const line of lines) {
          const at = recorded.get(line.step);
          if (line.what === "kept") {
            judge.looked();
            if (at === undefined)
              judge.violated(`The step "${line.step}" went on, and has no record`, taskId);
          }
          if (line.what !== "begin" || at === undefined || line.at <= at || hasJustWoken(evidence, line))
            continue;
          judge.violated(
            `The step "${line.step}" was recorded and began again ${line.at - at} ms later, in process ${line.pid}`,
            taskId,
          );
        }
      }
    },
  },
  {
    promise: "I9",
    title: "no step of a task begins once its cancel has had time to reach the worker",
    sides: ["tools", "audit"],
    look(evidence, judge) {
      for (const [taskId, entries] of evidence.audit) {
        const end = endOf(entries);
        if (end?.after.status !== "cancelled" || end.script !== "cancel") continue;
        judge.looked();
        const latest = end.at + evidence.leaseMs + STOP_MS;
        const after = (evidence.tools.get(taskId) ?? []).find(
          (line) => line.what === "begin" && line.at > latest && !hasJustWoken(evidence, line),
        );
        if (after)
          judge.violated(`The step "${after.step}" began ${after.at - end.at} ms after the cancel`, taskId);
      }
    },
  },
];
