import { setImmediate as nextTurn } from "node:timers/promises";
import { isTerminal, tenantRefOf } from "@perdure/tasks";
import type { Hint, HintSource, Owner, ReadReply, TaskSnapshot } from "@perdure/tasks";
import { readableId } from "../own-tasks.ts";

/*
 *   hint ─► is it news? ─► one read per task and owner ─► each watcher, in slices
 *   tick ─► due for a look? ─┘
 *
 * A hint says "look", never what is there. Without any hint a change is seen at the next look, at most `resyncMs` later.
 */

/** Who is told of changes. Neither function may throw. */
export interface Watcher {
  readonly owner: Owner;
  /** Called with each snapshot that is read: never an older after a newer one. It may be called before `watch` resolves. */
  readonly onSnapshot: (snapshot: TaskSnapshot) => void;
  /** The task's record is gone without an end that we saw. */
  readonly onGone?: (taskId: string) => void;
}

/** A task that is the owner's. */
export interface FoundTask {
  readonly taskId: string;
  /** As it was read after the watch began; absent when many large ones were asked for at once: read it again. */
  readonly snapshot?: TaskSnapshot;
}

/** A watch that has begun. */
export interface Watch {
  /** The tasks that are the owner's, in the order of the ids. The first always has its snapshot. */
  readonly found: readonly FoundTask[];
  /** Idempotent. Nothing is left behind. */
  readonly close: () => void;
}

/** One per replica: turns hints into snapshots for whoever watches a task. */
export interface Hub {
  start(): void;
  /** Idempotent. Open watches are told nothing more. */
  stop(): void;
  /**
   * Subscribes, then reads. Ids that are not the owner's, whatever the reason, are left out of `found`, and are watched
   * no further. Throws `TaskStoreError` when the store cannot be reached; nothing is left behind then.
   */
  watch(watcher: Watcher, taskIds: readonly string[]): Promise<Watch>;
  /** What is held now. All zero when nobody watches. */
  counts(): { readonly tenants: number; readonly tasks: number; readonly watchers: number };
}

/** What a hub stands on. */
export interface HubDeps {
  readonly read: (owner: Owner, taskId: string) => Promise<ReadReply>;
  readonly hints: HintSource;
  /** The longest time in milliseconds that a change can stay unseen when its hint is lost. */
  readonly resyncMs: number;
  /** Monotonic milliseconds. */
  readonly nowMs: () => number;
  /** Told of a read that failed; it is made again. */
  readonly onReadError: (error: unknown) => void;
}

interface Watched {
  readonly taskId: string;
  readonly owner: Owner;
  readonly watchers: Set<Watcher>;
  ver: number;
  isOver: boolean;
  isReading: boolean;
  isStale: boolean;
  lookAtMs: number;
}

interface Tenant {
  readonly ref: string;
  readonly tasks: Map<string, Watched[]>;
  readonly ready: Promise<() => void>;
}

const SLICE = 64;
const KEPT_CHARS = 1_000_000;
const READS_AT_ONCE = 16;
const LOOKS_PER_TICK = 500;
const TICKS_PER_RESYNC = 24;

/** A {@link Hub}. Its one timer runs only while something is watched. */
export function createHub(deps: HubDeps): Hub {
  const { hints, resyncMs, nowMs } = deps;
  const tenants = new Map<string, Tenant>();
  let timer: NodeJS.Timeout | undefined;
  let endReconnect: (() => void) | undefined;

  /** Up to a sixth early, so that tasks which came together are not looked at together. */
  const nextLookMs = (): number => nowMs() + (resyncMs * (5 + Math.random())) / 6;

  function* watchedNow(): Iterable<Watched> {
    for (const tenant of tenants.values()) for (const group of tenant.tasks.values()) yield* group;
  }

  const look = async (watched: Watched): Promise<void> => {
    watched.isStale = true;
    if (watched.isReading) return;
    watched.isReading = true;
    try {
      while (watched.isStale && watched.watchers.size > 0) {
        watched.isStale = false;
        watched.lookAtMs = nextLookMs();
        take(watched, await deps.read(watched.owner, watched.taskId));
      }
    } catch (error) {
      watched.lookAtMs = nowMs() + resyncMs / TICKS_PER_RESYNC;
      deps.onReadError(error);
    } finally {
      watched.isReading = false;
    }
  };

  const tick = (): void => {
    const now = nowMs();
    let budget = LOOKS_PER_TICK;
    for (const watched of watchedNow()) {
      if (watched.isOver || watched.isReading || watched.lookAtMs > now) continue;
      void look(watched);
      budget -= 1;
      if (budget === 0) return;
    }
  };

  const onHint = (tenant: Tenant, hint: Hint): void => {
    for (const watched of tenant.tasks.get(hint.taskId) ?? []) if (hint.ver > watched.ver) void look(watched);
  };

  const enterTenant = (ref: string): Tenant => {
    const known = tenants.get(ref);
    if (known) return known;
    const tenant: Tenant = {
      ref,
      tasks: new Map(),
      ready: hints.listen(ref, (hint) => onHint(tenant, hint)),
    };
    tenants.set(ref, tenant);
    timer ??= setInterval(tick, Math.max(1, Math.floor(resyncMs / TICKS_PER_RESYNC)));
    return tenant;
  };

  const leaveTenant = (tenant: Tenant): void => {
    if (tenant.tasks.size > 0 || tenants.get(tenant.ref) !== tenant) return;
    tenants.delete(tenant.ref);
    tenant.ready.then(
      (endListening) => endListening(),
      () => {},
    );
    if (tenants.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  const join = (tenant: Tenant, watcher: Watcher, taskId: string): Watched => {
    const group = tenant.tasks.get(taskId) ?? [];
    if (group.length === 0) tenant.tasks.set(taskId, group);
    let watched = group.find(({ owner }) => owner.principal === watcher.owner.principal);
    if (!watched) {
      watched = {
        taskId,
        owner: watcher.owner,
        watchers: new Set(),
        ver: -1,
        isOver: false,
        isReading: false,
        isStale: false,
        lookAtMs: nextLookMs(),
      };
      group.push(watched);
    }
    watched.watchers.add(watcher);
    return watched;
  };

  const leave = (tenant: Tenant, watcher: Watcher, watched: Watched): void => {
    if (!watched.watchers.delete(watcher) || watched.watchers.size > 0) return;
    const rest = (tenant.tasks.get(watched.taskId) ?? []).filter((other) => other !== watched);
    if (rest.length > 0) tenant.tasks.set(watched.taskId, rest);
    else tenant.tasks.delete(watched.taskId);
    leaveTenant(tenant);
  };

  return {
    start() {
      endReconnect ??= hints.onReconnect(() => {
        for (const watched of watchedNow()) watched.lookAtMs = 0;
        tick();
      });
    },
    stop() {
      endReconnect?.();
      endReconnect = undefined;
      clearInterval(timer);
      timer = undefined;
    },
    async watch(watcher, taskIds) {
      if (taskIds.length === 0) return { found: [], close: () => {} };
      const tenant = enterTenant(tenantRefOf(watcher.owner.tenant));
      const joined = [...new Set(taskIds.map(readableId))].map((taskId) => join(tenant, watcher, taskId));
      const close = (): void => {
        for (const watched of joined) leave(tenant, watcher, watched);
      };
      let room = KEPT_CHARS;
      try {
        await tenant.ready;
        const found = await readAll(joined, async (watched): Promise<FoundTask | undefined> => {
          const { taskId } = watched;
          const reply = await deps.read(watcher.owner, taskId);
          if (reply.verdict !== "found") {
            leave(tenant, watcher, watched);
            return undefined;
          }
          const { snapshot } = reply;
          take(watched, reply);
          if (room <= 0) return { taskId };
          room -= sizeOf(snapshot);
          return { taskId, snapshot };
        });
        return { found, close };
      } catch (error) {
        close();
        throw error;
      }
    },
    counts() {
      let tasks = 0;
      let watchers = 0;
      for (const watched of watchedNow()) {
        tasks += 1;
        watchers += watched.watchers.size;
      }
      return { tenants: tenants.size, tasks, watchers };
    },
  };
}

/** Takes what was read: a newer snapshot is told to all, an older one is dropped. */
function take(watched: Watched, reply: ReadReply): void {
  if (reply.verdict === "found") {
    const { snapshot } = reply;
    if (snapshot.ver <= watched.ver) return;
    watched.ver = snapshot.ver;
    watched.isOver = isTerminal(snapshot.status);
    void spread(watched, snapshot);
  } else if (!watched.isOver) {
    watched.isOver = true;
    for (const watcher of watched.watchers) watcher.onGone?.(watched.taskId);
  }
}

/**
 * Gives the loop a turn after each slice, so that one task with thousands of listeners does not hold up the rest.
 * A newer snapshot that comes meanwhile is told to all, so the older one stops.
 */
async function spread(watched: Watched, snapshot: TaskSnapshot): Promise<void> {
  let told = 0;
  for (const watcher of watched.watchers) {
    watcher.onSnapshot(snapshot);
    told += 1;
    if (told % SLICE > 0) continue;
    await nextTurn();
    if (watched.ver > snapshot.ver) return;
  }
}

/** Does a few at a time, keeps the order, and leaves out what gave nothing. */
async function readAll<Item, Result>(
  items: readonly Item[],
  read: (item: Item) => Promise<Result | undefined>,
): Promise<Result[]> {
  const results: (Result | undefined)[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < items.length) {
      const index = next;
      next += 1;
      const item = items[index];
      if (item !== undefined) results[index] = await read(item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(READS_AT_ONCE, items.length) }, work));
  return results.filter((result) => result !== undefined);
}

function sizeOf({ result, error, inputRequests }: TaskSnapshot): number {
  return (result?.length ?? 0) + (error?.length ?? 0) + (inputRequests?.length ?? 0);
}
