import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { until } from "@perdure/testkit";
import { afterAll } from "vitest";

/** For `PERDURE_TOOLS`: the probe tools, and the demo tools after them. */
export const PROBE_TOOLS = `${fileURLToPath(new URL("tools/probe-tools.ts", import.meta.url))},@perdure/demo-tools`;

/** One probe: what a tool of `tools/probe-tools.ts` is called with, and what it has told so far. */
export interface Probe {
  /** Arguments of the call. */
  readonly args: { readonly file: string; readonly gate: string };
  /** What the tool has told, in order. */
  lines(): readonly string[];
  /** Waits until the tool has told a line that begins so, and gives it. */
  line(start: string, timeoutMs?: number): Promise<string>;
  /** How often the tool has told just this. */
  count(line: string): number;
  /** Lets the tool go on. */
  open(): void;
}

const folder = mkdtempSync(join(tmpdir(), "perdure-probe-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A probe of its own, with a closed gate. */
export function createProbe(): Probe {
  const file = join(folder, randomUUID());
  const gate = `${file}.gate`;
  const lines = (): readonly string[] => {
    try {
      return readFileSync(file, "utf8").split("\n").filter(Boolean);
    } catch {
      return [];
    }
  };
  return {
    args: { file, gate },
    lines,
    line: (start, timeoutMs = 15_000) =>
      until(() => lines().find((line) => line.startsWith(start)), {
        what: `a line "${start}" from the tool`,
        timeoutMs,
      }),
    count: (line) => lines().filter((told) => told === line).length,
    open: () => writeFileSync(gate, ""),
  };
}

/** The answer to a form with one field `name`. */
export function accept(name: string): { action: "accept"; content: { name: string } } {
  return { action: "accept", content: { name } };
}
