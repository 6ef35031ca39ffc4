import { mintTaskId, tenantRefOf } from "@perdure/tasks";
import { expect, test } from "vitest";
import { createKeys, parseDueMember } from "./keys.ts";

test("all keys of a task lie in the slot of its tenant's shard", () => {
  const keys = createKeys(16);
  for (let n = 0; n < 100; n++) {
    const ref = { tenantRef: tenantRefOf(`tenant ${n}`), taskId: mintTaskId() };
    const { tag } = keys.shardOf(ref.tenantRef);
    expect(tag).toMatch(/^\{s\d\d\}$/);
    for (const key of [...keys.ofTask(ref), keys.hints(ref.tenantRef)])
      expect(key.startsWith(tag)).toBe(true);
  }
});

test("tenants are spread over all shards", () => {
  const keys = createKeys(8);
  const tenants = Array.from({ length: 400 }, (_, n) => keys.shardOf(tenantRefOf(`tenant ${n}`)).tag);
  expect(new Set(tenants)).toEqual(new Set(keys.shards.map(({ tag }) => tag)));
});

test("a member of due is read back, whatever the id looks like", () => {
  expect(parseDueMember("ref:id")).toEqual({ tenantRef: "ref", taskId: "id" });
  expect(parseDueMember("ref:id:with:colons")).toEqual({ tenantRef: "ref", taskId: "id:with:colons" });
  expect(parseDueMember("no member")).toBeUndefined();
});

test.each([0, -1, 1.5, 101, Number.NaN])("refuses %d shards", (shards) => {
  expect(() => createKeys(shards)).toThrow(RangeError);
});
