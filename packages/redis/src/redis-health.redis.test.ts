import { startRedis } from "@perdure/testkit";
import { Redis } from "ioredis";
import { describe, expect, test } from "vitest";
import { createRedisTasks } from "./redis-tasks.ts";
import { RedisSetupError } from "./index.ts";
import type { Durability, RedisTasks } from "./index.ts";

function tasksOn(redisUrl: string, durability: Durability, shards = 1): RedisTasks {
  return createRedisTasks({ redisUrl, durability, shards, leaseMs: 10_000 });
}

/** "started", or the code and sentence of the refusal. The tasks are stopped again. */
async function tryStart(tasks: RedisTasks): Promise<string> {
  try {
    await tasks.start();
    return "started";
  } catch (error) {
    if (!(error instanceof RedisSetupError)) throw error;
    return `${error.code}: ${error.message}`;
  } finally {
    await tasks.stop();
  }
}

async function configure(url: string, ...settings: readonly (readonly [string, string])[]): Promise<void> {
  const redis = new Redis(url);
  for (const [name, value] of settings) await redis.config("SET", name, value);
  redis.disconnect();
}

describe("start", () => {
  test("refuses a Redis that throws tasks away when it is full, and names the command that mends it", async () => {
    await using server = await startRedis();
    await configure(server.url, ["maxmemory-policy", "allkeys-lru"]);
    expect(await tryStart(tasksOn(server.url, "ephemeral"))).toBe(
      "redis_eviction: Redis would throw tasks away when it is full (maxmemory-policy allkeys-lru); " +
        "mend it with: redis-cli CONFIG SET maxmemory-policy noeviction",
    );
  });

  test.each([
    ["no-aof", "ephemeral", "started"],
    ["no-aof", "fast", "appendonly yes"],
    ["no-aof", "durable", "appendonly yes"],
    ["everysec", "fast", "started"],
    ["everysec", "durable", "appendfsync always"],
    ["always", "durable", "started"],
  ] as const)("on a Redis with %s and the class %s: %s", async (appendfsync, durability, outcome) => {
    await using server = await startRedis({ appendfsync });
    expect(await tryStart(tasksOn(server.url, durability))).toContain(outcome);
  });

  test("fixes the number of shards, and refuses another one", async () => {
    await using server = await startRedis();
    expect(await tryStart(tasksOn(server.url, "ephemeral", 4))).toBe("started");
    expect(await tryStart(tasksOn(server.url, "ephemeral", 4))).toBe("started");
    expect(await tryStart(tasksOn(server.url, "ephemeral", 2))).toBe(
      "redis_layout: This Redis was first started with 4 shards, not 2: start with 4, or on an empty Redis",
    );
  });

  test("refuses tasks in a layout that it does not know", async () => {
    await using server = await startRedis();
    const redis = new Redis(server.url);
    await redis.hset("{s00}:meta", { version: "99", shards: "1" });
    redis.disconnect();
    expect(await tryStart(tasksOn(server.url, "ephemeral"))).toContain(
      "redis_layout: This Redis holds tasks in layout 99",
    );
  });

  test("two that start at the same instant on an empty Redis agree", async () => {
    await using server = await startRedis();
    const outcomes = await Promise.all(
      [2, 3].map((shards) => tryStart(tasksOn(server.url, "ephemeral", shards))),
    );
    expect(outcomes.filter((outcome) => outcome === "started")).toHaveLength(1);
  });

  test("refuses a URL that is none of Redis, without showing its password", () => {
    expect(() => tasksOn("http://user:geheim@127.0.0.1", "ephemeral")).toThrow(
      /^(?!.*geheim).*must begin with redis:/,
    );
  });
});

describe("health", () => {
  test("has no problem with a Redis as configured, and sees it when that changes", async () => {
    await using server = await startRedis({ appendfsync: "always" });
    const tasks = tasksOn(server.url, "durable");
    await tasks.start();
    expect(await tasks.health.check()).toEqual([]);
    await configure(server.url, ["appendfsync", "everysec"], ["maxmemory-policy", "volatile-ttl"]);
    expect(await tasks.health.check()).toEqual([
      expect.stringContaining("maxmemory-policy volatile-ttl"),
      expect.stringContaining("this Redis has everysec"),
    ]);
    await tasks.stop();
  });

  test("says what it cannot verify where CONFIG is not permitted, and starts all the same", async () => {
    await using server = await startRedis({ appendfsync: "always" });
    const redis = new Redis(server.url);
    await redis.acl("SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-config");
    redis.disconnect();
    const tasks = tasksOn(server.url.replace("redis://", "redis://app:secret@"), "durable");
    await tasks.start();
    expect(await tasks.health.check()).toEqual([expect.stringContaining("cannot be verified")]);
    await tasks.stop();
  });
});
