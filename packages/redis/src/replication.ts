import { TaskStoreError, tenantRefOf } from "@perdure/tasks";
import type { TaskLeases, TaskStore } from "@perdure/tasks";
import type { CommandLink } from "./command-link.ts";
import type { Keys, ShardKeys } from "./keys.ts";

/** A failover of Redis loses what no replica had. This waits until some have it, before anyone is told that it is so. */
export interface Replication {
  /**
   * Resolves once so many replicas have all that was written to the tenant's shard before.
   * Throws `TaskStoreError`: `store_unknown_outcome` when they have not in time, or as a {@link CommandLink} does.
   */
  confirm(tenantRef: string): Promise<void>;
}

/** What replication is waited for with. */
export interface ReplicationDeps {
  /** Of its own: nothing else gets through while it waits. */
  readonly link: CommandLink;
  readonly keys: Keys;
  /** 0: nothing is waited for. */
  readonly replicas: number;
}

/** How long replicas may take. With the step before it this is within what a client may wait. */
const CONFIRM_MS = 500;
const MARK_MS = 60_000;

/**
 * {@link Replication} by `WAIT` (https://redis.io/commands/wait), which is about what its own connection wrote: a mark that
 * is written there comes after all that was written before. One `WAIT` at a time in a shard; those who come meanwhile
 * share the next.
 */
export function createReplication({ link, keys, replicas }: ReplicationDeps): Replication {
  const running = new Map<ShardKeys, Promise<void>>();
  const next = new Map<ShardKeys, Promise<void>>();

  const wait = async ({ tag }: ShardKeys): Promise<void> => {
    const replies = await link.call((redis) =>
      redis.pipeline().set(`${tag}:confirm`, "", "PX", MARK_MS).wait(replicas, CONFIRM_MS).exec(),
    );
    const [marked, waited] = replies ?? [];
    const error = marked?.[0] ?? waited?.[0];
    if (error) throw error;
    if (Number(waited?.[1]) >= replicas) return;
    throw new TaskStoreError(
      "store_unknown_outcome",
      `Fewer than ${replicas} replicas of Redis had it within ${CONFIRM_MS} ms`,
    );
  };

  const begin = (shard: ShardKeys): Promise<void> => {
    next.delete(shard);
    const wave = wait(shard).finally(() => running.delete(shard));
    running.set(shard, wave);
    return wave;
  };

  return {
    async confirm(tenantRef) {
      if (replicas === 0) return undefined;
      const shard = keys.shardOf(tenantRef);
      const before = running.get(shard);
      if (before === undefined) return begin(shard);
      const following = next.get(shard) ?? before.catch(() => {}).then(() => begin(shard));
      next.set(shard, following);
      return following;
    },
  };
}

/** A store that tells a client of nothing that replicas do not have yet. */
export function confirmedStore(store: TaskStore, replication: Replication): TaskStore {
  const confirm = ({ tenant }: { readonly tenant: string }): Promise<void> =>
    replication.confirm(tenantRefOf(tenant));
  return {
    read: (address) => store.read(address),
    async create(task) {
      const reply = await store.create(task);
      if (reply.verdict === "created" || reply.verdict === "existing") await confirm(task.owner);
      return reply;
    },
    async answer(address, answers) {
      const reply = await store.answer(address, answers);
      if (reply.verdict === "accepted") await confirm(address.owner);
      return reply;
    },
    async cancel(address, reason) {
      const reply = await store.cancel(address, reason);
      if (reply.verdict === "cancelled") await confirm(address.owner);
      return reply;
    },
  };
}

/** Leases whose last write is waited for too. That replicas are late undoes nothing: it is done, and said to be. */
export function confirmedLeases(leases: TaskLeases, replication: Replication): TaskLeases {
  return {
    ...leases,
    async settle(claim, settlement) {
      const reply = await leases.settle(claim, settlement);
      if (reply.verdict === "done") await replication.confirm(claim.ref.tenantRef).catch(() => {});
      return reply;
    },
  };
}
