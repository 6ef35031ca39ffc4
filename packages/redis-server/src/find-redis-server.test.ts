import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findRedisServer, isNewEnough } from "./find-redis-server.ts";
import { withInstallLock } from "./install-lock.ts";
import { formatRedisBinary, parseRedisBinary } from "./redis-binary.ts";
import type { RedisBinary } from "./redis-binary.ts";

test("Redis from 6.2 on and every Valkey are new enough; older ones and other programs are not", () => {
  expect(isNewEnough("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64")).toBe(true);
  expect(isNewEnough("Redis server v=6.2.0 sha=00000000:0")).toBe(true);
  expect(isNewEnough("Valkey server v=8.0.1 sha=00000000:0")).toBe(true);
  expect(isNewEnough("Redis server v=10.0.0 sha=00000000:0")).toBe(true);
  expect(isNewEnough("Redis server v=6.0.16 sha=00000000:0")).toBe(false);
  expect(isNewEnough("Redis server v=5.9.9 sha=00000000:0")).toBe(false);
  expect(isNewEnough("hello")).toBe(false);
});

test("what is found is a program that can be run, or nothing", async () => {
  const found = await findRedisServer();
  expect(found === undefined || found.kind === "program").toBe(true);
});

test("a binary's line is read back as the same binary", () => {
  const binaries: RedisBinary[] = [
    { kind: "program", path: "/opt/with space/redis-server" },
    { kind: "container", image: "redis:7.4-bookworm" },
  ];
  for (const binary of binaries) expect(parseRedisBinary(formatRedisBinary(binary))).toEqual(binary);
});

test("two that install at once do so one after the other, and a dead process's lock stands in nobody's way", async () => {
  const dir = await mkdtemp(join(tmpdir(), "perdure-lock-"));
  const file = join(dir, "lock");
  let inside = 0;
  const action = async (): Promise<number> => {
    inside += 1;
    await new Promise(setImmediate);
    const seen = inside;
    inside -= 1;
    return seen;
  };
  await writeFile(file, "999999999");
  expect(await Promise.all([withInstallLock(action, file), withInstallLock(action, file)])).toEqual([1, 1]);
  await rm(dir, { recursive: true });
});
