import { mintTaskId, tenantRefOf } from "@perdure/tasks";
import type { WakeUp, WakeUpConsumer, WakeUps } from "@perdure/tasks";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { until } from "../until.ts";

/** Both ends of the way that wake-ups go, on an empty store. */
export interface WakeUpPorts {
  /** Started. */
  readonly wakeUps: WakeUps;
  /** A consumer that is not started yet, as one worker process has it. */
  createConsumer(options: { readonly concurrency: number }): WakeUpConsumer;
  stop(): Promise<void>;
}

/** Work that stays in hand until the test lets it go. */
interface Bench {
  readonly taken: WakeUp[];
  inHand: number;
  mostInHand: number;
  readonly handle: (wakeUp: WakeUp) => Promise<void>;
  readonly letGo: () => void;
}

/** The contract of `WakeUps` and `WakeUpConsumer`, as tests for any adapter of them. To be called in a vitest file. */
export function describeWakeUps(name: string, makePorts: () => Promise<WakeUpPorts>): void {
  describe(`${name}: the way of wake-ups`, () => {
    let ports: WakeUpPorts;
    let consumers: WakeUpConsumer[] = [];
    beforeEach(async () => {
      ports = await makePorts();
      consumers = [];
    });
    afterEach(async () => {
      await Promise.all(consumers.map((consumer) => consumer.stop(0)));
      await ports.stop();
    });

    const startConsumer = async (
      handle: (wakeUp: WakeUp) => Promise<void>,
      concurrency = 1,
    ): Promise<WakeUpConsumer> => {
      const consumer = ports.createConsumer({ concurrency });
      consumers.push(consumer);
      await consumer.start(handle);
      return consumer;
    };

    test("what is sent comes as it was sent, before or after the consumer started", async () => {
      const { taken, handle } = createBench({ isOpen: true });
      const [early, late] = [newWakeUp(), newWakeUp(7)];
      await ports.wakeUps.send(early);
      const consumer = await startConsumer(handle);
      await until(() => consumer.isAlive(), { what: "the consumer to be alive" });
      await ports.wakeUps.send(late);
      await until(() => taken.length === 2, { what: "both to come" });
      expect(taken).toEqual([early, late]);
    });

    test("sent twice is the same as once, while it waits and while it is in hand", async () => {
      const { taken, handle, letGo } = createBench();
      const twice = newWakeUp();
      await ports.wakeUps.send(twice);
      await ports.wakeUps.send(twice);
      await startConsumer(handle);
      await until(() => taken.length === 1, { what: "it to come" });
      await ports.wakeUps.send(twice);
      const last = newWakeUp();
      await ports.wakeUps.send(last);
      letGo();
      await until(() => taken.some(({ ref }) => ref.taskId === last.ref.taskId), { what: "the last one" });
      expect(taken).toEqual([twice, last]);
    });

    test("one that was handled may be sent again, and another wake of the same task is another one", async () => {
      const { taken, handle } = createBench({ isOpen: true });
      await startConsumer(handle);
      const first = newWakeUp();
      await ports.wakeUps.send(first);
      await until(() => taken.length === 1, { what: "it to come" });
      // The end of the handling is not told: what is sent before it is dropped, so it is sent until it comes.
      await until(() => ports.wakeUps.send(first).then(() => taken.length >= 2), {
        what: "it to come again",
      });
      const next = { ...first, wake: first.wake + 1 };
      await ports.wakeUps.send(next);
      await until(() => taken.at(-1)?.wake === next.wake, { what: "the next wake" });
      expect(taken.at(-1)).toEqual(next);
    });

    test("each goes to one of the consumers, and none holds more than it may", async () => {
      const benches = [createBench(), createBench()];
      for (const { handle } of benches) await startConsumer(handle, 2);
      const sent = Array.from({ length: 6 }, () => newWakeUp());
      for (const wakeUp of sent) await ports.wakeUps.send(wakeUp);
      await until(() => benches.every(({ inHand }) => inHand === 2), { what: "all hands to be full" });
      for (const { letGo } of benches) letGo();
      await until(() => benches.flatMap(({ taken }) => taken).length === 6, { what: "all to come" });
      const ids = benches.flatMap(({ taken }) => taken.map(({ ref }) => ref.taskId));
      expect(ids.toSorted()).toEqual(sent.map(({ ref }) => ref.taskId).toSorted());
      expect(benches.map(({ mostInHand }) => mostInHand)).toEqual([2, 2]);
    });

    test("a paused consumer takes nothing more, keeps what it has in hand, and leaves the rest to others", async () => {
      const [paused, other] = [createBench(), createBench({ isOpen: true })];
      const consumer = await startConsumer(paused.handle, 2);
      await ports.wakeUps.send(newWakeUp());
      await until(() => paused.inHand === 1, { what: "the first to come" });
      await consumer.pause();
      await consumer.pause();
      expect(consumer.isAlive()).toBe(false);
      await ports.wakeUps.send(newWakeUp());
      await startConsumer(other.handle);
      await until(() => other.taken.length === 1, { what: "the other consumer to take the second" });
      expect(paused.taken).toHaveLength(1);
      expect(paused.inHand).toBe(1);
      paused.letGo();
      await until(() => paused.inHand === 0, { what: "the first to end" });
    });

    test("a consumer that was paused while it waited for work takes no word of it from another that waits", async () => {
      const [paused, other] = [createBench({ isOpen: true }), createBench({ isOpen: true })];
      const consumer = await startConsumer(paused.handle);
      await ports.wakeUps.send(newWakeUp());
      await until(() => paused.taken.length === 1, { what: "the first to come" });
      await startConsumer(other.handle);
      await consumer.pause();
      for (const turn of [1, 2, 3]) {
        await ports.wakeUps.send(newWakeUp());
        await until(() => other.taken.length === turn, {
          what: `the other consumer to take wake-up ${turn} at once`,
          timeoutMs: 5_000,
        });
      }
      expect(paused.taken).toHaveLength(1);
    });

    test("stop waits for what is in hand", async () => {
      const { handle, letGo, ...bench } = createBench();
      const consumer = await startConsumer(handle);
      await ports.wakeUps.send(newWakeUp());
      await until(() => bench.taken.length === 1, { what: "it to come" });
      let isStopped = false;
      const stopping = consumer.stop(20_000).then(() => (isStopped = true));
      await until(() => !consumer.isAlive(), { what: "the consumer to begin its end" });
      expect(isStopped).toBe(false);
      letGo();
      await stopping;
      await consumer.stop(20_000);
      expect(consumer.isAlive()).toBe(false);
    });

    test("stop does not wait longer than it was told to", async () => {
      const { taken, handle } = createBench();
      const consumer = await startConsumer(handle);
      await ports.wakeUps.send(newWakeUp());
      await until(() => taken.length === 1, { what: "it to come" });
      const askedAt = performance.now();
      await consumer.stop(200);
      expect(performance.now() - askedAt).toBeLessThan(5_000);
      expect(consumer.isAlive()).toBe(false);
    });
  });
}

function createBench({ isOpen = false } = {}): Bench {
  const gate = Promise.withResolvers<void>();
  if (isOpen) gate.resolve();
  const bench: Bench = {
    taken: [],
    inHand: 0,
    mostInHand: 0,
    async handle(wakeUp) {
      bench.taken.push(wakeUp);
      bench.inHand += 1;
      bench.mostInHand = Math.max(bench.mostInHand, bench.inHand);
      await gate.promise;
      bench.inHand -= 1;
    },
    letGo: () => gate.resolve(),
  };
  return bench;
}

function newWakeUp(wake = 1): WakeUp {
  return { ref: { tenantRef: tenantRefOf(mintTaskId()), taskId: mintTaskId() }, wake, epoch: wake - 1 };
}
