import { afterEach, expect, test, vi } from "vitest";
import { createAdmission } from "./admission.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** A store whose use of its memory is as the test says. */
function admissionAt(used: { percent: number }) {
  return createAdmission({
    call: async () => [`used_memory:${used.percent}\r\nmaxmemory:100\r\n`],
  } as unknown as Parameters<typeof createAdmission>[0]);
}

test("what was full and no longer is refuses nobody, however long nobody has asked", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const used = { percent: 90 };
  const admission = admissionAt(used);
  await expect(admission.assertRoom()).rejects.toMatchObject({ code: "store_full" });
  used.percent = 10;
  vi.advanceTimersByTime(60_000);
  await expect(admission.assertRoom()).resolves.toBeUndefined();
});

test("a store that cannot be asked refuses nobody here: the creation says what is wrong", async () => {
  const admission = createAdmission({ call: () => Promise.reject(new Error("gone")) });
  await expect(admission.assertRoom()).resolves.toBeUndefined();
});
