import { describe, expect, test } from "vitest";
import { parseRedisUrl } from "./redis-address.ts";

describe("the URL of Redis", () => {
  test("of one server is left to the library as it is", () => {
    for (const url of ["redis://127.0.0.1:6379", "rediss://user:pass@redis.internal:6380/2"])
      expect(parseRedisUrl(url)).toEqual({ kind: "one", url });
  });

  test("of Sentinels names them, the master, the database and who logs in where", () => {
    expect(
      parseRedisUrl("redis+sentinel://app:p%40ss@one:26380,[::1]:7,two/my%20master/3?sentinelPassword=s%2Fp"),
    ).toEqual({
      kind: "sentinel",
      hosts: [
        { host: "one", port: 26380 },
        { host: "::1", port: 7 },
        { host: "two", port: 26379 },
      ],
      master: "my master",
      database: 3,
      login: { username: "app", password: "p@ss" },
      sentinelLogin: { password: "s/p" },
      isEncrypted: false,
    });
    expect(parseRedisUrl("rediss+sentinel://:pass@one/m")).toMatchObject({
      master: "m",
      database: 0,
      login: { password: "pass" },
      isEncrypted: true,
    });
  });

  test("of a Cluster names some of its nodes", () => {
    expect(parseRedisUrl("rediss+cluster://app:pass@one:7000,two")).toEqual({
      kind: "cluster",
      hosts: [
        { host: "one", port: 7000 },
        { host: "two", port: 6379 },
      ],
      login: { username: "app", password: "pass" },
      isEncrypted: true,
    });
  });

  test.each([
    "geheim",
    "http://geheim@one",
    "redis+sentinel://:geheim@one:26379",
    "redis+sentinel://:geheim@one:26379/",
    "redis+sentinel://:geheim@one:26379/master/x",
    "redis+cluster://:geheim@one:7000/1",
    "redis+cluster://:geheim@one:port",
    "redis+cluster://:geheim@",
    "redis+other://:geheim@one",
    "redis+cluster://:geheim%@one:7000",
  ])("is refused when it is none (%s), in one line without its password", (url) => {
    expect(() => parseRedisUrl(url)).toThrow(/^The URL of Redis (?!.*geheim).*$/);
  });
});
