import type { TaskStatus } from "./status.ts";

/**
 * JSON as text, exactly as it came or will be sent. The store keeps it opaque and never parses it:
 * a number keeps its digits and an empty array stays an array.
 */
export type JsonText = string;

/** Whose a task is. Both come from the verified token, never from a body. */
export interface Owner {
  readonly tenant: string;
  readonly principal: string;
}

/** How a client names a task: by its id, on behalf of an owner. */
export interface TaskAddress {
  readonly owner: Owner;
  readonly taskId: string;
}

/** How a wake-up, a hint or the due index names a task. `tenantRef` is `tenantRefOf(tenant)`. */
export interface TaskRef {
  readonly tenantRef: string;
  readonly taskId: string;
}

/** What `create` writes. */
export interface NewTask {
  /** From `mintTaskId()`. */
  readonly taskId: string;
  readonly owner: Owner;
  /** The caller's scopes at creation; the tool reads them as `task.caller.scopes`. */
  readonly scopes: readonly string[];
  /** The request as it came, so that a later kind of request needs no new store. */
  readonly method: string;
  readonly params: JsonText;
  /** The name of the tool that a worker runs. */
  readonly tool: string;
  /** The client's declared capabilities: an object's JSON text. */
  readonly capabilities: JsonText;
  /** What the tool's `prepare` returned before the task existed. */
  readonly prepared?: JsonText;
  /** A client's own name for this creation, and a digest of what it asks: the same again gives the same task. */
  readonly idempotency?: { readonly key: string; readonly digest: string };
  /** Milliseconds from creation to expiry. */
  readonly ttlMs: number;
  /** Milliseconds that clients are asked to leave between polls. */
  readonly pollIntervalMs: number;
}

/** What a reader sees of a task: all that `tasks/get` and `notifications/tasks` are rendered from. */
export interface TaskSnapshot {
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string;
  /** Milliseconds since the epoch, by the clock of Redis. */
  readonly createdAtMs: number;
  readonly lastUpdatedAtMs: number;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
  /** One more at each change of the snapshot; never goes back. */
  readonly ver: number;
  /** An object's JSON text, key to request; present when `input_required`. */
  readonly inputRequests?: JsonText;
  /** A whole `CallToolResult`; present when `completed`. */
  readonly result?: JsonText;
  /** A JSON-RPC error; present when `failed`. */
  readonly error?: JsonText;
}

/** What fences a worker's writes: every one carries it, and changes nothing once another claim holds the task. */
export interface Claim {
  readonly ref: TaskRef;
  /** Random, one per claim. */
  readonly claimId: string;
  /** One more at each claim of the task. */
  readonly epoch: number;
}

/** What a task has already done. A run reads it back instead of doing it again. */
export interface JournalEntries {
  /** Step name to what the toolkit recorded of it. */
  readonly steps: ReadonlyMap<string, JsonText>;
  /** Input key to the request that was asked under it. */
  readonly requests: ReadonlyMap<string, JsonText>;
  /** Input key to the client's response. */
  readonly answers: ReadonlyMap<string, JsonText>;
  /** Sleep name to its end, in milliseconds since the epoch by the clock of Redis. */
  readonly sleeps: ReadonlyMap<string, number>;
  /** Step name (or `""` for the function itself) to how often it has failed. */
  readonly failures: ReadonlyMap<string, number>;
}

/** A task in a worker's hands. */
export interface ClaimedTask {
  readonly claim: Claim;
  readonly owner: Owner;
  readonly scopes: readonly string[];
  readonly method: string;
  readonly params: JsonText;
  readonly tool: string;
  readonly capabilities: JsonText;
  readonly prepared?: JsonText;
  /** 1 + how often the tool itself has failed. A worker's death does not count. */
  readonly attempt: number;
  readonly journal: JournalEntries;
  /** The clock of Redis at the claim, and when the task expires by it. Milliseconds since the epoch. */
  readonly nowMs: number;
  readonly expiresAtMs: number;
}

/** Asks a worker to look at a task. It carries ids only, may be lost or doubled, and proves nothing. */
export interface WakeUp {
  readonly ref: TaskRef;
  /** One more at each event that makes the task runnable; a re-sent wake-up keeps the number. */
  readonly wake: number;
  readonly epoch: number;
  /** How many of the tenant's tasks may run, this one among them: workers take those of shorter queues first. */
  readonly depth?: number;
}

/** Says that a task has changed since it was created. It may never come, and never carries a body. */
export interface Hint {
  readonly taskId: string;
  readonly ver: number;
  readonly status: TaskStatus;
}
