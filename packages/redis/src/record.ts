import { TASK_STATUSES } from "@perdure/tasks";
import type { ClaimedTask, JournalEntries, TaskRef, TaskSnapshot, TaskStatus } from "@perdure/tasks";
import { z } from "zod";
import { RedisReplyError } from "./replies.ts";

/** The fields that a reader needs: the snapshot, and whose it is. */
export const READ_FIELDS = [
  "principal",
  "expired",
  "status",
  "message",
  "createdAt",
  "updatedAt",
  "ttl",
  "poll",
  "ver",
  "inputs",
  "result",
  "error",
] as const;

/**
 * A snapshot out of the values of {@link READ_FIELDS}, as `HMGET` gives them, of a record that is there. Written out, because each
 * poll of each client comes through here. Throws a {@link RedisReplyError} that names the field which is not what this version writes.
 */
export function toSnapshot(taskId: string, values: readonly (string | null)[]): TaskSnapshot {
  const [, , status, message, created, updated, ttl, poll, ver, inputs, result, error] = values;
  if (!isTaskStatus(status)) throw badField("read", "status", status);
  const snapshot: Mutable<TaskSnapshot> = {
    taskId,
    status,
    createdAtMs: wholeOf("read", "createdAt", created),
    lastUpdatedAtMs: wholeOf("read", "updatedAt", updated),
    ttlMs: wholeOf("read", "ttl", ttl),
    pollIntervalMs: wholeOf("read", "poll", poll),
    ver: wholeOf("read", "ver", ver),
  };
  if (typeof message === "string") snapshot.statusMessage = message;
  if (typeof inputs === "string") snapshot.inputRequests = inputs;
  if (typeof result === "string") snapshot.result = result;
  if (typeof error === "string") snapshot.error = error;
  return snapshot;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

const STATUSES: ReadonlySet<unknown> = new Set(TASK_STATUSES);

function isTaskStatus(value: unknown): value is TaskStatus {
  return STATUSES.has(value);
}

/** The whole record as `HGETALL` gives it inside a script: field, value, field, value. What it says, {@link toClaimedTask} reads. */
export const claimedFields = z.custom<readonly string[]>(
  (flat) => Array.isArray(flat) && flat.every((text) => typeof text === "string"),
);

/**
 * A claimed task out of the record's fields and values. Written out, as each run of each task comes through here. Throws a
 * {@link RedisReplyError} that names the field which is not what this version writes.
 */
export function toClaimedTask(ref: TaskRef, nowMs: number, flat: readonly string[]): ClaimedTask {
  const fields = new Map<string, string>();
  const journal = openJournal();
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const [field = "", value = ""] = [flat[at], flat[at + 1]];
    // Two letters and a colon begin what is the journal's.
    if (field[2] === ":") keep(journal, field, value);
    else fields.set(field, value);
  }
  const text = (field: string): string => {
    const value = fields.get(field);
    if (value === undefined) throw badField("claim", field, value);
    return value;
  };
  const whole = (field: string): number => wholeOf("claim", field, fields.get(field));
  const prepared = fields.get("prepared");
  return {
    scopes: scopesOf(text("scopes")),
    method: text("method"),
    params: text("params"),
    tool: text("tool"),
    capabilities: text("capabilities"),
    ...(prepared !== undefined && { prepared }),
    claim: { ref, claimId: text("claim"), epoch: whole("epoch") },
    owner: { tenant: text("tenant"), principal: text("principal") },
    attempt: 1 + whole("failures"),
    journal,
    nowMs,
    expiresAtMs: whole("createdAt") + whole("ttl"),
  };
}

type OpenJournal = { readonly [Part in keyof JournalEntries]: MapOf<JournalEntries[Part]> };
type MapOf<Entries> = Entries extends ReadonlyMap<infer Name, infer Value> ? Map<Name, Value> : never;

function openJournal(): OpenJournal {
  return {
    steps: new Map(),
    requests: new Map(),
    answers: new Map(),
    sleeps: new Map(),
    failures: new Map(),
  };
}

function keep(journal: OpenJournal, field: string, value: string): void {
  const name = field.slice(3);
  switch (field.slice(0, 2)) {
    case "st":
      return void journal.steps.set(name, value);
    case "rq":
      return void journal.requests.set(name, value);
    case "rs":
      return void journal.answers.set(name, value);
    case "sl":
      return void journal.sleeps.set(name, wholeOf("claim", field, value));
    case "at":
      return void journal.failures.set(name, wholeOf("claim", field, value));
  }
}

const scopesText = z.array(z.string());

function scopesOf(text: string): readonly string[] {
  if (text === "[]") return [];
  try {
    return scopesText.parse(JSON.parse(text));
  } catch {
    throw badField("claim", "scopes", text);
  }
}

function wholeOf(script: string, field: string, text: string | null | undefined): number {
  if (typeof text !== "string" || !/^\d+$/.test(text)) throw badField(script, field, text);
  return Number(text);
}

function badField(script: string, field: string, value: unknown): RedisReplyError {
  return new RedisReplyError(script, {
    cause: new TypeError(`The record's ${field} is ${JSON.stringify(value)}`),
  });
}
