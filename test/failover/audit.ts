import { TASK_STATUSES, type TaskStatus } from "@perdure/tasks";
import type { Redis } from "ioredis";
import { z } from "zod";

/** What the record of a task was, as the audit of `lua/prelude/audit.lua` saw it. Times in milliseconds since the epoch. */
export interface AuditedState {
  readonly status: TaskStatus | undefined;
  readonly ver: number | undefined;
  readonly epoch: number | undefined;
  readonly claim: string | undefined;
  readonly leaseEnd: number | undefined;
  readonly wake: number | undefined;
  readonly queuedAt: number | undefined;
  readonly wakeAt: number | undefined;
  readonly updatedAt: number | undefined;
  readonly endedBy: string | undefined;
  readonly ttl: number | undefined;
  readonly createdAt: number | undefined;
  readonly crashes: number | undefined;
  readonly isTombstone: boolean;
  readonly tool: string | undefined;
  /** Digest of what readers see. */
  readonly shown: string;
  /** Digest of every byte. */
  readonly bytes: string;
}

/** One run of a script on a task. */
export interface AuditEntry {
  /** When, by Redis. */
  readonly at: number;
  readonly script: string;
  readonly op: string;
  readonly claim: string;
  readonly epoch: string;
  readonly name: string;
  readonly reply: readonly unknown[];
  readonly before: AuditedState;
  /** Undefined when no byte changed. */
  readonly after?: AuditedState;
}

/** The audit so far, in the order in which things happened. */
export interface Audit {
  readonly tasks: ReadonlyMap<string, readonly AuditEntry[]>;
  count(): number;
  /** Reads on until now. */
  catchUp(): Promise<void>;
  stop(): Promise<void>;
}

const STREAM = "{s00}:audit";
const PAGE = 2000;
const PAUSE_MS = 250;

/** Reads the stream as it grows, so that its cap loses nothing. */
export function followAudit(redis: Redis): Audit {
  const tasks = new Map<string, AuditEntry[]>();
  let last = "-";
  let count = 0;
  const over = new AbortController();

  const readOn = async (): Promise<void> => {
    for (;;) {
      const page = await redis.xrange(STREAM, last === "-" ? "-" : `(${last}`, "+", "COUNT", PAGE);
      for (const [id, flat] of page) {
        last = id;
        count += 1;
        const told = new Map(
          flat.flatMap((name, at) => (at % 2 ? [] : [[name, flat[at + 1] ?? ""] as const])),
        );
        const taskId = told.get("task") ?? "";
        const entries = tasks.get(taskId) ?? [];
        if (entries.length === 0) tasks.set(taskId, entries);
        entries.push(parseEntry(id, told));
      }
      if (page.length < PAGE) return;
    }
  };

  let turn = Promise.resolve();
  const catchUp = (): Promise<void> => {
    turn = turn.then(readOn);
    return turn;
  };
  const follow = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await catchUp();
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  };
  const following = follow().catch((error: unknown) => {
    // A run that is given up takes its connection away.
    if (redis.status !== "end") throw error;
  });

  return {
    tasks,
    count: () => count,
    catchUp,
    async stop() {
      over.abort();
      await following;
    },
  };
}

function parseEntry(id: string, told: ReadonlyMap<string, string>): AuditEntry {
  const text = (name: string): string => told.get(name) ?? "";
  const after = text("after");
  return {
    at: Number(id.split("-")[0]),
    script: text("script"),
    op: text("op"),
    claim: text("claim"),
    epoch: text("epoch"),
    name: text("name"),
    reply: asList(JSON.parse(text("reply"))),
    before: parseState(text("before")),
    ...(after !== "" && { after: parseState(after) }),
  };
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

const stateValues = z.array(z.union([z.string(), z.literal(false)]));
const statusWord = z.enum(TASK_STATUSES);

function parseState(text: string): AuditedState {
  const values = stateValues.parse(JSON.parse(text));
  const word = (at: number): string | undefined => values[at] || undefined;
  const number = (at: number): number | undefined => (word(at) === undefined ? undefined : Number(word(at)));
  return {
    status: word(0) === undefined ? undefined : statusWord.parse(word(0)),
    ver: number(1),
    epoch: number(2),
    claim: word(3),
    leaseEnd: number(4),
    wake: number(5),
    queuedAt: number(6),
    wakeAt: number(7),
    updatedAt: number(8),
    endedBy: word(9),
    createdAt: number(10),
    ttl: number(11),
    crashes: number(12),
    isTombstone: word(13) !== undefined,
    tool: word(14),
    shown: word(15) ?? "",
    bytes: word(16) ?? "",
  };
}
