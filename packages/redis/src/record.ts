import { TASK_STATUSES } from "@perdure/tasks";
import type { ClaimedTask, JournalEntries, TaskRef, TaskSnapshot, TaskStatus } from "@perdure/tasks";
import { z } from "zod";
import { RedisReplyError, wholeText } from "./replies.ts";

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
  if (!isTaskStatus(status)) throw badField("status", status);
  const snapshot: Mutable<TaskSnapshot> = {
    taskId,
    status,
    createdAtMs: wholeOf("createdAt", created),
    lastUpdatedAtMs: wholeOf("updatedAt", updated),
    ttlMs: wholeOf("ttl", ttl),
    pollIntervalMs: wholeOf("poll", poll),
    ver: wholeOf("ver", ver),
  };
  if (typeof message === "string") snapshot.statusMessage = message;
  if (typeof inputs === "string") snapshot.inputRequests = inputs;
  if (typeof result === "string") snapshot.result = result;
  if (typeof error === "string") snapshot.error = error;
  return snapshot;
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };
type Field = (typeof READ_FIELDS)[number];

const STATUSES: ReadonlySet<unknown> = new Set(TASK_STATUSES);

function isTaskStatus(value: unknown): value is TaskStatus {
  return STATUSES.has(value);
}

function wholeOf(field: Field, text: string | null | undefined): number {
  if (typeof text !== "string" || !/^\d+$/.test(text)) throw badField(field, text);
  return Number(text);
}

function badField(field: Field, value: unknown): RedisReplyError {
  return new RedisReplyError("read", {
    cause: new TypeError(`The record's ${field} is ${JSON.stringify(value)}`),
  });
}

const scopesText = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.array(z.string()));

/** The fields that a worker needs. There are more; they are the scripts' own. */
const claimedRecord = z.object({
  tenant: z.string(),
  principal: z.string(),
  scopes: scopesText,
  method: z.string(),
  params: z.string(),
  tool: z.string(),
  capabilities: z.string(),
  prepared: z.string().optional(),
  claim: z.string(),
  epoch: wholeText,
  failures: wholeText,
  createdAt: wholeText,
  ttl: wholeText,
});

/** The whole record as `HGETALL` gives it inside a script: field, value, field, value. */
export const claimedFields = z.array(z.string()).transform((flat) => {
  const fields = new Map<string, string>();
  for (let i = 0; i + 1 < flat.length; i += 2) fields.set(flat[i] ?? "", flat[i + 1] ?? "");
  return { record: claimedRecord.parse(Object.fromEntries(fields)), journal: journalOf(fields) };
});

/** A claimed task out of the parsed reply. */
export function toClaimedTask(
  ref: TaskRef,
  nowMs: number,
  { record, journal }: z.output<typeof claimedFields>,
): ClaimedTask {
  const { tenant, principal, claim, epoch, failures, createdAt, ttl, prepared, ...asAsked } = record;
  return {
    ...asAsked,
    ...(prepared !== undefined && { prepared }),
    claim: { ref, claimId: claim, epoch },
    owner: { tenant, principal },
    attempt: 1 + failures,
    journal,
    nowMs,
    expiresAtMs: createdAt + ttl,
  };
}

function journalOf(fields: ReadonlyMap<string, string>): JournalEntries {
  const under = (prefix: string): Map<string, string> => {
    const entries = new Map<string, string>();
    for (const [field, value] of fields) {
      if (field.startsWith(prefix)) entries.set(field.slice(prefix.length), value);
    }
    return entries;
  };
  const numbersUnder = (prefix: string): Map<string, number> =>
    new Map([...under(prefix)].map(([name, value]) => [name, wholeText.parse(value)]));
  return {
    steps: under("st:"),
    requests: under("rq:"),
    answers: under("rs:"),
    sleeps: numbersUnder("sl:"),
    failures: numbersUnder("at:"),
  };
}
