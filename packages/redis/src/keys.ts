import { createHash } from "node:crypto";
import type { TaskRef } from "@perdure/tasks";

/** Where everything of the tasks lies in Redis. All keys of one task share the hash tag of its shard. */
export interface Keys {
  readonly shards: readonly ShardKeys[];
  /** The shard of a tenant. */
  shardOf(tenantRef: string): ShardKeys;
  /** `{sNN}:t:<tenantRef>:<taskId>`: the record, or its tombstone. */
  record(ref: TaskRef): string;
  /** The key that holds what was made under an idempotency key of a principal. */
  sameAs(tenantRef: string, principalAndKey: string): string;
  /** The keys of a tenant's and of one of its principals' request rates, after the shard's due. */
  ofRates(tenantRef: string, principal: string): readonly string[];
  /** The keys of a script on one task: due, record, counts, waiting. */
  ofTask(ref: TaskRef): readonly string[];
  /** The channel that tells of the tenant's changes. */
  hints(tenantRef: string): string;
  /** What was fixed at the first start: the version of the layout and the number of shards. */
  readonly layout: string;
}

/** The keys of one shard. */
export interface ShardKeys {
  /** `{sNN}`, also the prefix of BullMQ's keys. */
  readonly tag: string;
  readonly due: string;
  /** For operators: the keys of how many tasks are open, and of which are queued and running since when. */
  readonly work: readonly [open: string, queued: string, running: string];
}

/** The {@link Keys} of a store with so many shards. The same tenant is always in the same one. */
export function createKeys(shardCount: number): Keys {
  if (!Number.isInteger(shardCount) || shardCount < 1 || shardCount > 100) {
    throw new RangeError(`The number of shards must be from 1 to 100, not ${shardCount}`);
  }
  const shards = Array.from({ length: shardCount }, (_, index) => {
    const tag = `{s${String(index).padStart(2, "0")}}`;
    return { tag, due: `${tag}:due`, work: [`${tag}:open`, `${tag}:queued`, `${tag}:running`] as const };
  });
  const [only] = shards;
  const shardOf = (tenantRef: string): ShardKeys => {
    if (shardCount === 1 && only !== undefined) return only;
    // A tenantRef is base64url of a hash already: its first 32 bits are as good as any.
    const index = Buffer.from(tenantRef.slice(0, 6).padEnd(6, "A"), "base64url").readUInt32BE() % shardCount;
    const shard = shards[index];
    if (shard === undefined) throw new RangeError(`No shard ${index}`);
    return shard;
  };
  const record = ({ tenantRef, taskId }: TaskRef): string =>
    `${shardOf(tenantRef).tag}:t:${tenantRef}:${taskId}`;
  return {
    shards,
    shardOf,
    record,
    sameAs: (tenantRef, principalAndKey) =>
      `${shardOf(tenantRef).tag}:i:${tenantRef}:${hashOf(principalAndKey)}`,
    ofRates: (tenantRef, principal) => {
      const { tag, due } = shardOf(tenantRef);
      return [due, `${tag}:r:${tenantRef}`, `${tag}:r:${tenantRef}:${hashOf(principal)}`];
    },
    ofTask: (ref) => {
      const { tag, due } = shardOf(ref.tenantRef);
      return [due, record(ref), `${tag}:n:${ref.tenantRef}`, `${tag}:w:${ref.tenantRef}`];
    },
    hints: (tenantRef) => `${shardOf(tenantRef).tag}:hints:${tenantRef}`,
    layout: "{s00}:meta",
  };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** The ref behind a member of `due`; undefined for text that is none. */
export function parseDueMember(member: string): TaskRef | undefined {
  const colon = member.indexOf(":");
  if (colon < 1) return undefined;
  return { tenantRef: member.slice(0, colon), taskId: member.slice(colon + 1) };
}
