import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { askServer } from "./ask-server.ts";
import { freePort } from "./free-port.ts";
import { parseRedisBinary } from "./redis-binary.ts";
import { startRedisServer } from "./start-redis-server.ts";

const binary = parseRedisBinary(process.env["PERDURE_REDIS_BINARY"] ?? "redis-server");

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "perdure-redis-test-"));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

/** Sends one inline command and gives the last line of the reply. */
function ask(port: number, command: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port }, () => socket.write(`${command}\r\nQUIT\r\n`));
    let text = "";
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => (text += chunk));
    socket.once("end", () => resolve(text.split("\r\n").at(-3) ?? ""));
    socket.once("error", reject);
  });
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("a private server", () => {
  test("answers on loopback, never evicts, and is gone after stop, with its temporary folder", async () => {
    const redis = await startRedisServer({ binary, appendfsync: "no-aof", maxmemory: "50mb" });
    expect(redis.url).toBe(`redis://127.0.0.1:${redis.port}`);
    expect(await ask(redis.port, "PING")).toBe("+PONG");
    expect(await ask(redis.port, "CONFIG GET maxmemory-policy")).toBe("noeviction");
    await redis.stop();
    await redis.stop();
    expect(isRunning(redis.pid)).toBe(false);
    await expect(rm(redis.dir, { recursive: true })).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("a server that was killed has its acknowledged writes when it is started again on its folder and port", async () => {
    const first = await startRedisServer({ binary, dir, appendfsync: "always" });
    expect(await ask(first.port, "SET kept yes")).toBe("+OK");
    await first.kill();
    expect(isRunning(first.pid)).toBe(false);
    await first.kill();

    const second = await startRedisServer({ binary, dir, port: first.port, appendfsync: "always" });
    expect(await ask(second.port, "GET kept")).toBe("yes");
    await second.stop();

    const third = await startRedisServer({ binary, dir, appendfsync: "everysec" });
    expect(await ask(third.port, "GET kept")).toBe("yes");
    await third.stop();
  });

  test("a killed server's temporary folder stays, so that it can be started again on it", async () => {
    const first = await startRedisServer({ binary, appendfsync: "always" });
    expect(await ask(first.port, "SET kept yes")).toBe("+OK");
    await first.kill();
    const second = await startRedisServer({
      binary,
      dir: first.dir,
      port: first.port,
      appendfsync: "always",
    });
    expect(await ask(second.port, "GET kept")).toBe("yes");
    await second.stop();
    await first.stop();
    await expect(rm(first.dir, { recursive: true })).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("a port that is taken is an error with the server's own words, and the one that has it is untouched", async () => {
    await using first = await startRedisServer({ binary, appendfsync: "no-aof" });
    await expect(startRedisServer({ binary, port: first.port, appendfsync: "no-aof" })).rejects.toMatchObject(
      {
        code: "redis_port_taken",
        message: expect.stringMatching(/already in use|already allocated/),
      },
    );
    expect(await ask(first.port, "PING")).toBe("+PONG");
  });

  test("a folder that a running server uses is refused, as two would spoil it", async () => {
    await using first = await startRedisServer({ binary, dir, appendfsync: "always" });
    await expect(startRedisServer({ binary, dir, appendfsync: "always" })).rejects.toMatchObject({
      code: "redis_dir_in_use",
      message: expect.stringContaining(String(first.port)),
    });
  });

  test("a server that ends while it starts is an error with its last lines", async () => {
    await expect(
      startRedisServer({ binary, appendfsync: "no-aof", maxmemory: "nonsense" }),
    ).rejects.toMatchObject({
      code: "redis_start_failed",
      message: expect.stringContaining("memory value"),
    });
  });

  test("a program that is not there is an error that names it", async () => {
    await expect(
      startRedisServer({ binary: { kind: "program", path: "/nowhere/redis-server" }, appendfsync: "no-aof" }),
    ).rejects.toMatchObject({
      code: "redis_start_failed",
      message: expect.stringContaining("/nowhere/redis-server"),
    });
  });

  test("a stopped process ends too, and its end is told", async () => {
    const redis = await startRedisServer({ binary, appendfsync: "no-aof" });
    process.kill(redis.pid, "SIGSTOP");
    await redis.stop();
    await redis.ended;
    expect(isRunning(redis.pid)).toBe(false);
  });

  test("twenty rounds of start and stop leave no process and no listener", async () => {
    const listeners = process.listenerCount("exit");
    const pids: number[] = [];
    for (let round = 0; round < 20; round++) {
      const redis = await startRedisServer({ binary, appendfsync: "no-aof" });
      pids.push(redis.pid);
      await redis.stop();
    }
    expect(pids.filter(isRunning)).toEqual([]);
    expect(process.listenerCount("exit")).toBeLessThanOrEqual(listeners + 1);
  });
});

const CHILD = `
  import { startRedisServer } from ${JSON.stringify(fileURLToPath(new URL("./index.ts", import.meta.url)))};
  const redis = await startRedisServer({ binary: JSON.parse(process.argv[1]), appendfsync: "no-aof", port: Number(process.argv[2]), dir: process.argv[4] });
  console.log(redis.pid);
  if (process.argv[3] === "exit") process.exit(0);
  process.kill(process.pid, process.argv[3]);
`;

describe("a server whose parent ends without stopping it", () => {
  test.each(["exit", ...(process.platform === "linux" ? ["SIGTERM", "SIGKILL"] : [])])(
    "ends too: %s",
    async (how) => {
      const port = await freePort();
      const args = ["--input-type=module", "--eval", CHILD, JSON.stringify(binary), String(port), how, dir];
      const parent = promisify(execFile)(process.execPath, args);
      const output = await parent.catch((error: { stdout: string }) => error);
      expect(Number(output.stdout)).toBeGreaterThan(0);
      while (await askServer(port)) await wait(10); // The test's own time limit is the deadline.
    },
  );
});
