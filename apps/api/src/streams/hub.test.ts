import { setImmediate as nextTurn } from "node:timers/promises";
import { mintTaskId, tenantRefOf, TaskStoreError } from "@perdure/tasks";
import type { Hint, HintSource, Owner, ReadReply, TaskSnapshot } from "@perdure/tasks";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createHub, type Hub, type HubDeps } from "./hub.ts";

const ALICE: Owner = { tenant: "acme", principal: "alice" };
const BOB: Owner = { tenant: "acme", principal: "bob" };

interface FakeHints extends HintSource {
  say(tenant: string, hint: Hint): void;
  reconnect(): void;
  readonly open: Map<string, (hint: Hint) => void>;
  fail?: Error;
}

function fakeHints(): FakeHints {
  const open = new Map<string, (hint: Hint) => void>();
  const losses = new Set<() => void>();
  const source: FakeHints = {
    open,
    start: async () => {},
    stop: async () => {},
    async listen(ref, onHint) {
      if (source.fail) throw source.fail;
      if (open.has(ref)) throw new Error("a tenant is subscribed to once");
      open.set(ref, onHint);
      return () => void open.delete(ref);
    },
    onReconnect(onLoss) {
      losses.add(onLoss);
      return () => void losses.delete(onLoss);
    },
    say: (tenant, hint) => open.get(tenantRefOf(tenant))?.(hint),
    reconnect: () => losses.forEach((onLoss) => onLoss()),
  };
  return source;
}

function fakeStore() {
  const tasks = new Map<string, { owner: Owner; snapshot: TaskSnapshot }>();
  const reads: string[] = [];
  const put = (owner: Owner, change: Partial<TaskSnapshot> & { taskId: string }): TaskSnapshot => {
    const before = tasks.get(change.taskId)?.snapshot;
    const snapshot: TaskSnapshot = {
      status: "working",
      createdAtMs: 0,
      lastUpdatedAtMs: 0,
      ttlMs: 60_000,
      pollIntervalMs: 1000,
      ...before,
      ver: (before?.ver ?? 0) + 1,
      ...change,
    };
    tasks.set(change.taskId, { owner, snapshot });
    return snapshot;
  };
  const read = async (owner: Owner, taskId: string): Promise<ReadReply> => {
    reads.push(taskId);
    const held = tasks.get(taskId);
    const isOwn = held?.owner.tenant === owner.tenant && held.owner.principal === owner.principal;
    return isOwn ? { verdict: "found", snapshot: held.snapshot } : { verdict: "unknown" };
  };
  return { put, read, reads, tasks };
}

const hubs: Hub[] = [];
function hubOn(deps: Partial<HubDeps> & Pick<HubDeps, "hints" | "read">): Hub {
  const hub = createHub({ resyncMs: 60_000, nowMs: () => performance.now(), onReadError: () => {}, ...deps });
  hub.start();
  hubs.push(hub);
  return hub;
}

afterEach(() => {
  vi.useRealTimers();
  for (const hub of hubs.splice(0)) hub.stop();
});

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 8; turn += 1) await nextTurn();
};

describe("a watch", () => {
  test("subscribes before it reads, and gives the owner's tasks in the order of the ids", async () => {
    const store = fakeStore();
    const hints = fakeHints();
    const [first, second, foreign] = [mintTaskId(), mintTaskId(), mintTaskId()];
    store.put(ALICE, { taskId: first });
    store.put(ALICE, { taskId: second });
    store.put(BOB, { taskId: foreign });
    const read: HubDeps["read"] = (owner, taskId) => {
      expect(hints.open.size).toBe(1);
      return store.read(owner, taskId);
    };
    const hub = hubOn({ hints, read });
    const ids = [second, "not an id", foreign, first, second, mintTaskId()];
    const watch = await hub.watch({ owner: ALICE, onSnapshot: () => {} }, ids);
    expect(watch.found.map(({ taskId }) => taskId)).toEqual([second, first]);
    expect(store.reads).toHaveLength(5);
    expect(hub.counts()).toEqual({ tenants: 1, tasks: 2, watchers: 2 });
  });

  test("leaves nothing behind when it is closed, and nothing when it fails", async () => {
    const store = fakeStore();
    const hints = fakeHints();
    const hub = hubOn({ hints, read: store.read });
    const taskId = mintTaskId();
    store.put(ALICE, { taskId });
    const watch = await hub.watch({ owner: ALICE, onSnapshot: () => {} }, [taskId, mintTaskId()]);
    watch.close();
    watch.close();
    await settle();
    expect(hub.counts()).toEqual({ tenants: 0, tasks: 0, watchers: 0 });
    expect(hints.open.size).toBe(0);

    hints.fail = new TaskStoreError("store_unavailable", "gone");
    const failing = hub.watch({ owner: ALICE, onSnapshot: () => {} }, [taskId]);
    await expect(failing).rejects.toMatchObject({ code: "store_unavailable" });
    expect(hub.counts()).toEqual({ tenants: 0, tasks: 0, watchers: 0 });
  });

  test("reads a changed task once for all watchers of its owner, and not at all for old news", async () => {
    const store = fakeStore();
    const hints = fakeHints();
    const hub = hubOn({ hints, read: store.read });
    const taskId = mintTaskId();
    store.put(ALICE, { taskId });
    const seen: number[][] = [];
    for (let index = 0; index < 200; index += 1) {
      const mine: number[] = [];
      seen.push(mine);
      await hub.watch({ owner: ALICE, onSnapshot: ({ ver }) => mine.push(ver) }, [taskId]);
    }
    store.reads.length = 0;
    store.put(ALICE, { taskId, statusMessage: "half" });
    hints.say("acme", { taskId, ver: 2, status: "working" });
    hints.say("acme", { taskId, ver: 2, status: "working" });
    await settle();
    hints.say("acme", { taskId, ver: 1, status: "working" });
    await settle();
    expect(store.reads.length).toBeLessThanOrEqual(2);
    expect(seen.every((vers) => vers.at(-1) === 2 && vers.length <= 2)).toBe(true);
  });

  test("never tells an older version after a newer one, even while thousands are being told", async () => {
    const store = fakeStore();
    const hints = fakeHints();
    const hub = hubOn({ hints, read: store.read });
    const taskId = mintTaskId();
    store.put(ALICE, { taskId });
    const seen = Array.from({ length: 1000 }, (): number[] => []);
    for (const mine of seen)
      await hub.watch({ owner: ALICE, onSnapshot: ({ ver }) => mine.push(ver) }, [taskId]);
    for (let ver = 2; ver <= 6; ver += 1) {
      store.put(ALICE, { taskId });
      hints.say("acme", { taskId, ver, status: "working" });
      await nextTurn();
    }
    for (let turn = 0; turn < 60; turn += 1) await nextTurn();
    for (const vers of seen) {
      expect(vers).toEqual(vers.toSorted((a, b) => a - b));
      expect(vers.at(-1)).toBe(6);
    }
  });
});

describe("a lost hint costs latency, never the change", () => {
  test("a task is looked at again within the resync time, and no more once it is over", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    const store = fakeStore();
    const hub = hubOn({ hints: fakeHints(), read: store.read, resyncMs: 12_000 });
    const taskId = mintTaskId();
    store.put(ALICE, { taskId });
    const seen: string[] = [];
    await hub.watch({ owner: ALICE, onSnapshot: ({ status }) => seen.push(status) }, [taskId]);
    store.put(ALICE, { taskId, status: "completed", result: "{}" });
    vi.advanceTimersByTime(12_600);
    await settle();
    expect(seen.at(-1)).toBe("completed");
    const reads = store.reads.length;
    vi.advanceTimersByTime(60_000);
    await settle();
    expect(store.reads).toHaveLength(reads);
  });

  test("after a reconnect everything is looked at, at once", async () => {
    const store = fakeStore();
    const hints = fakeHints();
    const hub = hubOn({ hints, read: store.read });
    const ids = Array.from({ length: 40 }, mintTaskId);
    for (const taskId of ids) store.put(ALICE, { taskId });
    const seen = new Set<string>();
    await hub.watch({ owner: ALICE, onSnapshot: ({ ver, taskId }) => ver === 2 && seen.add(taskId) }, ids);
    for (const taskId of ids) store.put(ALICE, { taskId });
    hints.reconnect();
    await settle();
    expect(seen.size).toBe(40);
  });

  test("a read that fails is made again", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
    const store = fakeStore();
    const hints = fakeHints();
    const errors: unknown[] = [];
    let isDown = false;
    const read: HubDeps["read"] = (owner, taskId) =>
      isDown ? Promise.reject(new Error("down")) : store.read(owner, taskId);
    const hub = hubOn({ hints, read, resyncMs: 12_000, onReadError: (error) => errors.push(error) });
    const taskId = mintTaskId();
    store.put(ALICE, { taskId });
    const seen: number[] = [];
    await hub.watch({ owner: ALICE, onSnapshot: ({ ver }) => seen.push(ver) }, [taskId]);
    isDown = true;
    store.put(ALICE, { taskId });
    hints.say("acme", { taskId, ver: 2, status: "working" });
    await settle();
    expect(errors).toHaveLength(1);
    isDown = false;
    vi.advanceTimersByTime(1100);
    await settle();
    expect(seen.at(-1)).toBe(2);
  });

  test("a record that disappeared is told as gone", async () => {
    const store = fakeStore();
    const hints = fakeHints();
    const hub = hubOn({ hints, read: store.read });
    const taskId = mintTaskId();
    store.put(ALICE, { taskId });
    const gone: string[] = [];
    await hub.watch({ owner: ALICE, onSnapshot: () => {}, onGone: (id) => gone.push(id) }, [taskId]);
    store.tasks.delete(taskId);
    hints.reconnect();
    await settle();
    expect(gone).toEqual([taskId]);
  });
});
