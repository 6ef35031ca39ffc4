import { mintTaskId } from "@perdure/tasks";
import type { TaskAddress, TaskStore } from "@perdure/tasks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CALM, DELICATE_JSON, createTaskBench, newTask } from "./task-bench.ts";
import type { MakeTaskPorts, TaskBench } from "./task-bench.ts";

/** What a client can do with its own task, and that nobody else can do any of it. */
export function describeOwner(makePorts: MakeTaskPorts): void {
  describe("a task and its owner", () => {
    let bench: TaskBench;
    let store: TaskStore;
    beforeAll(async () => {
      bench = createTaskBench(await makePorts(CALM));
      ({ store } = bench.ports);
    });
    afterAll(() => bench.ports.stop());

    test("a created task is working, and is read back as it was said", async () => {
      const beforeMs = Date.now();
      const made = await bench.create({ ttlMs: 120_000, pollIntervalMs: 250 });
      const { taskId } = made.task;
      expect(made.snapshot).toMatchObject({ taskId, status: "working", ttlMs: 120_000, pollIntervalMs: 250 });
      expect(made.snapshot.ver).toBeGreaterThanOrEqual(1);
      expect(made.snapshot.createdAtMs).toBe(made.snapshot.lastUpdatedAtMs);
      expect(Math.abs(made.snapshot.createdAtMs - beforeMs)).toBeLessThan(60_000);
      for (const field of ["inputRequests", "result", "error"])
        expect(made.snapshot).not.toHaveProperty(field);
      expect(made.wakeUp.ref).toEqual(made.ref);
      expect(await bench.read(made)).toEqual(made.snapshot);
    });

    test("what was created reaches the worker byte for byte", async () => {
      const owner = { tenant: `a:b|{c}\n"☃" ${mintTaskId()}`, principal: "auth0|élodie:\n{x}" };
      const texts = {
        params: DELICATE_JSON,
        capabilities: '{"elicitation":{},"x":1.0}',
        prepared: DELICATE_JSON,
      };
      const made = await bench.create({ ...texts, owner, scopes: [], method: "tools/call", tool: "naïve ☃" });
      const claimed = await bench.claim(made);
      expect(claimed).toMatchObject({ ...texts, owner, scopes: [], method: "tools/call", tool: "naïve ☃" });

      const plain = await bench.create({ scopes: ["b", "a"] });
      const other = await bench.claim(plain);
      expect(other.scopes).toEqual(["b", "a"]);
      expect(other.prepared).toBeUndefined();
    });

    test("two tasks of one owner are two tasks", async () => {
      const first = await bench.create();
      const second = await bench.create({ owner: first.task.owner });
      await store.cancel(first.address, "no");
      expect(await bench.read(second)).toEqual(second.snapshot);
    });

    const notMine: readonly [string, (mine: TaskAddress) => TaskAddress][] = [
      ["another tenant's id", (mine) => ({ ...mine, owner: { ...mine.owner, tenant: "another" } })],
      ["another principal's id", (mine) => ({ ...mine, owner: { ...mine.owner, principal: "mallory" } })],
      ["an id that does not exist", (mine) => ({ ...mine, taskId: mintTaskId() })],
      ...MALFORMED.map((id): [string, (mine: TaskAddress) => TaskAddress] => [
        `the malformed id ${JSON.stringify(id).slice(0, 30)}`,
        (mine) => ({ ...mine, taskId: id }),
      ]),
    ];
    describe.each(notMine)("%s", (_, addressOf) => {
      test("is unknown to read, answer and cancel, and nothing changes", async () => {
        const made = await bench.createAsking(["approve"]);
        const before = await bench.read(made);
        const address = addressOf(made.address);
        expect(await store.read(address)).toEqual({ verdict: "unknown" });
        expect(await store.answer(address, [{ key: "approve", response: "{}" }])).toEqual({
          verdict: "unknown",
        });
        expect(await store.answer(address, [])).toEqual({ verdict: "unknown" });
        expect(await store.cancel(address, "mine now")).toEqual({ verdict: "unknown" });
        expect(await bench.read(made)).toEqual(before);
      });
    });

    test("a malformed id is nothing to a worker or a reconciler either", async () => {
      const { ref } = await bench.create();
      for (const taskId of [mintTaskId(), ...MALFORMED]) {
        expect(await bench.ports.leases.claim({ ...ref, taskId })).toEqual({ verdict: "unknown" });
        expect(await bench.ports.due.rouse({ ...ref, taskId })).toEqual({ verdict: "gone" });
        expect(await bench.ports.due.expire({ ...ref, taskId })).toEqual({ verdict: "gone" });
      }
    });

    test("the same id under two tenants is two tasks that know nothing of each other", async () => {
      const first = await bench.create();
      const twin = newTask({ taskId: first.task.taskId });
      await store.create(twin);
      await store.cancel({ owner: twin.owner, taskId: twin.taskId }, "no");
      expect(await bench.read(first)).toEqual(first.snapshot);
    });
  });
}

const MALFORMED = [
  "",
  "x",
  "a".repeat(23),
  "a".repeat(25),
  "a".repeat(5_000),
  "../../../../etc/passwd/x",
].concat([
  "aaaaaaaaaaa:aaaaaaaaaaaa",
  "aaaaaaaaaaa\naaaaaaaaaaaa",
  "}aaaaaaaaaaaaaaaaaaaaaa{",
  "__proto__",
  "ééééééééééééééééééééééé☃",
]);
