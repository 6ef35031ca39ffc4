import { TaskStoreError } from "@perdure/tasks";
import { expect, test } from "vitest";
import { toStoreError } from "./store-errors.ts";

test.each([
  ["OOM command not allowed when used memory > 'maxmemory'. script: abc, on @user_script:12.", "store_full"],
  ["ERR Error running script (call to f_abc): @user_script:1: -OOM command not allowed", "store_full"],
  ["READONLY You can't write against a read only replica. script: abc", "store_readonly"],
  ["MISCONF Errors writing to the AOF file: No space left on device", "store_readonly"],
  ["LOADING Redis is loading the dataset in memory", "store_unavailable"],
  ["BUSY Redis is busy running a script.", "store_unavailable"],
  ["WRONGPASS invalid username-password pair or user is disabled.", "store_unavailable"],
  ["connect ECONNREFUSED 127.0.0.1:6379", "store_unavailable"],
  ["Stream isn't writeable and enableOfflineQueue options is false", "store_unavailable"],
  ["Connection is closed.", "store_unknown_outcome"],
  ["Command aborted due to connection close", "store_unknown_outcome"],
  ["Reached the max retries per request limit (which is 4).", "store_unknown_outcome"],
])("%s → %s", (message, code) => {
  const cause = new Error(message);
  expect(toStoreError(cause)).toMatchObject({ name: "TaskStoreError", code, cause });
});

test("an error that says nothing about the store stays what it is, and so does one that was told already", () => {
  const fault = new Error("ERR user_script:12: attempt to index a nil value");
  const told = new TaskStoreError("store_full", "Redis is full");
  expect(toStoreError(fault)).toBe(fault);
  expect(toStoreError(told)).toBe(told);
  expect(toStoreError("text")).toBe("text");
});
