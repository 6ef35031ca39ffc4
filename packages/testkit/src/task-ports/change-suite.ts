import type { Hint, TaskLeases, TaskStore } from "@perdure/tasks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { until } from "../until.ts";
import { CALM, createTaskBench, found, requestOf } from "./task-bench.ts";
import type { MadeTask, MakeTaskPorts, TaskBench, TaskPorts } from "./task-bench.ts";

/** How changes are numbered, and told. */
export function describeChanges(makePorts: MakeTaskPorts): void {
  let bench: TaskBench;
  let leases: TaskLeases;
  let store: TaskStore;
  let other: TaskPorts;
  const options = { ...CALM, leaseMs: 300 };
  beforeAll(async () => {
    bench = createTaskBench(await makePorts(options));
    ({ leases, store } = bench.ports);
    other = await makePorts(options);
  });
  afterAll(() => Promise.all([bench.ports.stop(), other.stop()]));

  /** A whole life, step by step: asks, is answered in two parts, sleeps, retries, loses a worker, completes. */
  async function live(made: MadeTask, afterStep: (step: string) => Promise<void>): Promise<void> {
    let { claim } = await bench.claim(made);
    const steps: readonly [string, () => Promise<unknown>][] = [
      ["claim", () => Promise.resolve()],
      ["heartbeat", () => leases.heartbeat(claim)],
      ["record", () => leases.recordStep(claim, "outline", "1")],
      ["progress", () => leases.progress(claim, "Outline ready")],
      ["extend", () => leases.extend(claim, 3_600_000)],
      ["extend by nothing", () => leases.extend(claim, 1)],
      ["ask", () => leases.park(claim, { requests: [requestOf("a"), requestOf("b")], sleeps: [] })],
      ["one answer", () => store.answer(made.address, [{ key: "a", response: "1" }])],
      ["an answer that is ignored", () => store.answer(made.address, [{ key: "a", response: "2" }])],
      ["other answer", () => store.answer(made.address, [{ key: "b", response: "2" }])],
      ["second claim", async () => ({ claim } = await bench.claim(made))],
      ["sleep", () => leases.park(claim, { requests: [], sleeps: [{ name: "nap", durationMs: 20 }] })],
      ["timer", () => bench.rouseWhenDue(made)],
      ["third claim", async () => ({ claim } = await bench.claim(made))],
      ["take-over", async () => ({ claim } = await bench.takeOver(made))],
      ["shutdown", () => leases.release(claim, { reason: "shutdown" })],
      ["fifth claim", async () => ({ claim } = await bench.claim(made))],
      ["retry", () => leases.release(claim, { reason: "retry", failed: "", delayMs: 0, message: "busy" })],
      ["sixth claim", async () => ({ claim } = await bench.claim(made))],
      ["complete", () => leases.settle(claim, { status: "completed", result: "{}" })],
      ["late cancel", () => store.cancel(made.address, "late")],
    ];
    for (const [name, step] of steps) {
      await step();
      await afterStep(name);
    }
  }

  test("I4: through a whole life each change of the snapshot is one more in ver, and nothing else is", async () => {
    const made = await bench.create();
    let before = made.snapshot;
    const changes: string[] = [];
    await live(made, async (step) => {
      const after = await bench.read(made);
      const { ver: verBefore, lastUpdatedAtMs: updatedBefore, ...shownBefore } = before;
      const { ver, lastUpdatedAtMs, ...shown } = after;
      const isChanged = JSON.stringify(shown) !== JSON.stringify(shownBefore);
      expect({ step, ver }).toEqual({ step, ver: verBefore + (isChanged ? 1 : 0) });
      expect(lastUpdatedAtMs).toBeGreaterThanOrEqual(updatedBefore);
      if (isChanged) changes.push(step);
      before = after;
    });
    const expected = ["progress", "extend", "ask", "one answer", "other answer", "complete"];
    expect(changes.filter((step) => step !== "retry")).toEqual(expected);
  });

  test("I5: a reader that reads all the while never sees ver go back", async () => {
    const made = await bench.create();
    const over = new AbortController();
    const seen: [number[], number[]] = [[], []];
    const reading = (async () => {
      while (!over.signal.aborted) {
        const replies = await Promise.all([store.read(made.address), other.store.read(made.address)]);
        for (const [side, reply] of replies.entries()) seen[side]?.push(found(reply).ver);
      }
    })();
    await live(made, () => Promise.resolve()).finally(() => over.abort());
    await reading;
    for (const vers of seen) {
      expect(vers.length).toBeGreaterThan(10);
      expect(vers).toEqual(vers.toSorted((a, b) => a - b));
    }
  });

  test("a listener of the tenant is told of each change after the creation once, with its id, ver and status, and of nothing else", async () => {
    const owner = { tenant: `listening-${Date.now()}`, principal: "alice" };
    const warmUp = await bench.create({ owner });
    const hints: Hint[] = [];
    const unlisten = await other.hints.listen(warmUp.ref.tenantRef, (hint) => hints.push(hint));
    const made = await bench.create({ owner });
    const seen: Hint[] = [{ taskId: made.task.taskId, ver: made.snapshot.ver, status: "working" }];
    await live(made, async () => {
      const { taskId, ver, status } = await bench.read(made);
      if (ver !== seen.at(-1)?.ver) seen.push({ taskId, ver, status });
    });
    await store.cancel(warmUp.address, "the last one");
    await until(() => hints.some(({ status }) => status === "cancelled"), { what: "the last hint" });
    expect(hints.filter(({ taskId }) => taskId === made.task.taskId)).toEqual(seen.slice(1));
    unlisten();
  });

  test("I8: a listener hears of no other tenant, and of nothing once it has left", async () => {
    const mine = await bench.create();
    const heard: Hint[] = [];
    const later: Hint[] = [];
    const unlisten = await other.hints.listen(mine.ref.tenantRef, (hint) => heard.push(hint));
    const theirs = await bench.create();
    await store.cancel(theirs.address, "no");
    await store.cancel(mine.address, "no");
    await until(() => heard.length > 0, { what: "the hint" });
    expect(heard).toEqual([{ taskId: mine.task.taskId, ver: mine.snapshot.ver + 1, status: "cancelled" }]);

    unlisten();
    unlisten();
    const unlistenLater = await other.hints.listen(mine.ref.tenantRef, (hint) => later.push(hint));
    const next = await bench.create({ owner: mine.task.owner });
    await store.cancel(next.address, "no");
    await until(() => later.length > 0, { what: "the hint to the one who stayed" });
    expect(heard).toHaveLength(1);
    unlistenLater();
  });

  test("two listeners of one tenant both hear, and one that leaves does not deafen the other", async () => {
    const made = await bench.create();
    const heard: [Hint[], Hint[]] = [[], []];
    const unlisten = await other.hints.listen(made.ref.tenantRef, (hint) => heard[0].push(hint));
    const unlistenOther = await other.hints.listen(made.ref.tenantRef, (hint) => heard[1].push(hint));
    const { claim } = await bench.claim(made);
    await leases.progress(claim, "one");
    await until(() => heard.every((hints) => hints.length === 1), { what: "both to hear" });
    unlisten();
    await leases.progress(claim, "two");
    await until(() => heard[1].length === 2, { what: "the one who stayed to hear" });
    expect(heard[0]).toHaveLength(1);
    unlistenOther();
  });
}
