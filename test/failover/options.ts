import { parseArgs } from "node:util";
import { FAULT_KINDS, type FaultKind } from "./fault-kinds.ts";

/** What a run is to do. Times in milliseconds. */
export interface ChaosOptions {
  readonly seed: number;
  readonly tasks: number;
  /** From the first task to the last one; faults come in that time. */
  readonly durationMs: number;
  readonly faults: readonly FaultKind[];
  /** How often each kind of fault must have taken effect. */
  readonly quota: number;
  /** Wait for what is left to end, after the last fault, no longer. */
  readonly patienceMs: number;
  /** The git revision that the previous build is made of; "" for the oldest one that fits. */
  readonly previous: string;
  /** All kinds of faults were asked for: then every promise must have been exercised too. */
  readonly isWhole: boolean;
  /** A folder for the histories of all tasks and the logs of all roles; "" for none. */
  readonly keep: string;
  /** Look at parked tasks when all is over. */
  readonly isRestTaken: boolean;
}

const USAGE = `npm run chaos -- [--short] [--seed N] [--tasks N] [--duration 60s] [--only KIND,KIND] [--quota N]
                 [--patience 60s] [--previous REVISION] [--rest] [--keep FOLDER]

  KIND is one of ${FAULT_KINDS.join(", ")}, or none`;

/** Reads the flags. Throws an error with the usage when they make no sense. */
export function parseOptions(args: readonly string[]): ChaosOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        short: { type: "boolean" },
        seed: { type: "string" },
        tasks: { type: "string" },
        duration: { type: "string" },
        only: { type: "string" },
        quota: { type: "string" },
        patience: { type: "string" },
        previous: { type: "string" },
        rest: { type: "boolean" },
        keep: { type: "string" },
      },
    });
    const isShort = values.short ?? false;
    return {
      seed: whole("--seed", values.seed ?? String(Date.now() % 1_000_000)),
      tasks: whole("--tasks", values.tasks ?? (isShort ? "520" : "5200")),
      durationMs: milliseconds("--duration", values.duration ?? (isShort ? "60s" : "520s")),
      faults: kinds(values.only),
      quota: whole("--quota", values.quota ?? (isShort ? "1" : "10")),
      patienceMs: milliseconds("--patience", values.patience ?? "60s"),
      previous: values.previous ?? "",
      isWhole: values.only === undefined,
      keep: values.keep ?? "",
      isRestTaken: values.rest ?? values.only === undefined,
    };
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`, {
      cause: error,
    });
  }
}

function kinds(only: string | undefined): readonly FaultKind[] {
  if (only === undefined) return FAULT_KINDS;
  if (only === "none") return [];
  const asked = only.split(",");
  const unknown = asked.filter((kind) => !FAULT_KINDS.some((known) => known === kind));
  if (unknown.length > 0) throw new Error(`There is no fault ${unknown.join(", ")}`);
  return FAULT_KINDS.filter((kind) => asked.includes(kind));
}

function whole(flag: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new Error(`${flag} takes a whole number, not ${text}`);
  return Number(text);
}

function milliseconds(flag: string, text: string): number {
  const [, count, unit = "s"] = /^(\d+)(s|m)?$/.exec(text) ?? [];
  if (count === undefined) throw new Error(`${flag} takes a time as 60s or 5m, not ${text}`);
  return Number(count) * (unit === "m" ? 60_000 : 1000);
}
