import { TaskStoreError } from "@perdure/tasks";
import { expect, test } from "vitest";
import { z } from "zod";
import { createKeys } from "./keys.ts";
import { createRedisDueTasks } from "./redis-due-tasks.ts";
import { CALM } from "./testing/start-bench.ts";

const gone = new TaskStoreError("store_unavailable", "its node is gone");

/** Three shards, each with one due task named after it, but those that are gone. */
function dueTasks(isGone: (shard: string) => boolean) {
  return createRedisDueTasks({
    keys: createKeys(3),
    policy: CALM,
    link: { call: () => Promise.reject(gone) },
    scripts: {
      async run(_name, { keys: [due = ""] }) {
        if (isGone(due)) throw gone;
        return ["taken", [`tenant:${due.slice(1, 4)}`], 1];
      },
    },
  });
}

test("what is due on the other nodes of a Cluster is taken while one is gone", async () => {
  const due = dueTasks((shard) => shard.startsWith("{s01}"));
  for (let pass = 0; pass < 3; pass += 1)
    expect((await due.take(100)).map(({ taskId }) => taskId).toSorted()).toEqual(["s00", "s02"]);
});

test("that no node is there is an error", async () => {
  await expect(dueTasks(() => true).take(100)).rejects.toBe(gone);
});

test("while nothing is due a pass costs one plain command, and what becomes due is taken by the clock of Redis", async () => {
  let headMs = 100_000;
  let looked = 0;
  let glances = 0;
  const due = createRedisDueTasks({
    keys: createKeys(1),
    policy: CALM,
    link: {
      async call<Reply>(): Promise<Reply> {
        glances += 1;
        const reply: unknown = ["tenant:a", String(headMs)];
        return z.custom<Reply>().parse(reply);
      },
    },
    scripts: {
      async run() {
        looked += 1;
        return ["taken", headMs <= 50_000 ? ["tenant:a"] : [], 50_000];
      },
    },
  });
  for (let pass = 0; pass < 4; pass += 1) expect(await due.take(100)).toEqual([]);
  expect({ looked, glances }).toEqual({ looked: 1, glances: 3 });
  headMs = 50_000;
  expect(await due.take(100)).toHaveLength(1);
});
