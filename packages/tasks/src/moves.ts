import type { TaskStatus } from "./status.ts";

/** What a move may start from, and where it ends. */
export interface Move {
  readonly from: readonly TaskStatus[];
  readonly to: TaskStatus;
}

/**
 * The one table of legal moves. The scripts get their `from` list from it, and tests are generated from it.
 *
 *     create ─► working ⇄ input_required
 *                 │            │
 *                 ├─ complete  ├─ fail, cancel, expire
 *                 ▼            ▼
 *       completed · failed · cancelled      terminal: nothing leaves
 */
export const MOVES = {
  create: { from: [], to: "working" },
  ask: { from: ["working"], to: "input_required" },
  resume: { from: ["input_required"], to: "working" },
  complete: { from: ["working"], to: "completed" },
  fail: { from: ["working"], to: "failed" },
  cancel: { from: ["working", "input_required"], to: "cancelled" },
  expire: { from: ["working", "input_required"], to: "failed" },
} as const satisfies Record<string, Move>;

/** A name in {@link MOVES}. */
export type MoveName = keyof typeof MOVES;

/** True when the table lets `move` start from `status`. */
export function isLegal(move: MoveName, status: TaskStatus): boolean {
  const from: readonly TaskStatus[] = MOVES[move].from;
  return from.includes(status);
}
