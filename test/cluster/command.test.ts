import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { readFile, readdir } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createWireClient, freePort, until } from "@perdure/testkit";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { PROBE_TOOLS } from "./probe.ts";

/* The `perdure` command, as a person at a terminal has it: real processes, their output, their exit codes. */

const PERDURE = fileURLToPath(new URL("../../apps/cli/bin/perdure.js", import.meta.url));
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const START_MS = 50_000;

// Each command is a process or two, and each stack four of them.
vi.setConfig({ testTimeout: 90_000 });

const dataDir = mkdtempSync(join(tmpdir(), "perdure-command-"));
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

/** The environment of a terminal, with what is given and no other variable of ours but the Redis that was found. */
function terminal(env: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(PERDURE_|NODE_OPTIONS|VITEST|npm_)/.test(name),
  );
  return { ...Object.fromEntries(own), PERDURE_DATA: dataDir, ...env };
}

interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** Runs a command to its end. */
async function run(command: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Said> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { cwd: ROOT, env: terminal(env), stdio: ["ignore", "pipe", "pipe"] });
  const said = { out: "", err: "" };
  child.stdout.on("data", (chunk: Buffer) => (said.out += chunk.toString("utf8")));
  child.stderr.on("data", (chunk: Buffer) => (said.err += chunk.toString("utf8")));
  await once(child, "close");
  return { code: child.exitCode, ...said };
}

const perdure = (...words: readonly string[]): Promise<Said> => run([process.execPath, PERDURE, ...words]);

/** A port whose neighbour is free too: the worker's ops port is the one after the replica's. */
async function twoFreePorts(): Promise<number> {
  const isFree = (port: number): Promise<boolean> =>
    new Promise((resolve) => {
      const server = createServer();
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
  return until(
    async () => {
      const port = await freePort();
      return (await isFree(port + 1)) && port;
    },
    { what: "two free ports" },
  );
}

/** Ids of all processes that descend from one. */
async function descendantsOf(pid: number): Promise<readonly number[]> {
  const parents = new Map<number, number>();
  for (const entry of await readdir("/proc")) {
    const stat = /^\d+$/.test(entry) ? await readFile(`/proc/${entry}/stat`, "utf8").catch(() => "") : "";
    const parent = /^\d+ \(.*\) \S (\d+)/s.exec(stat)?.[1];
    if (parent !== undefined) parents.set(Number(entry), Number(parent));
  }
  const descends = (id: number): boolean => {
    const parent = parents.get(id);
    return parent !== undefined && (parent === pid || descends(parent));
  };
  return [...parents.keys()].filter(descends);
}

const isAlive = (pid: number): boolean => {
  try {
    // A process that has ended and was not yet waited for counts as gone.
    return !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
};

describe("perdure up", () => {
  let up: ChildProcess;
  let printed = "";
  let url = "";

  const start = async (): Promise<void> => {
    printed = "";
    const [port, opsPort] = [await freePort(), await twoFreePorts()];
    url = `http://127.0.0.1:${port}/mcp`;
    const env = {
      PERDURE_PORT: String(port),
      PERDURE_OPS_PORT: String(opsPort),
      PERDURE_TOOLS: PROBE_TOOLS,
      PERDURE_LEASE_MS: "2000",
      PERDURE_LOG_LEVEL: "warn",
    };
    // A group of its own, as a terminal gives: Ctrl-C reaches all of it.
    up = spawn(process.execPath, [PERDURE, "up", "--issuer-port", "0"], {
      cwd: ROOT,
      env: terminal(env),
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    for (const stream of [up.stdout, up.stderr])
      stream?.on("data", (chunk: Buffer) => (printed += chunk.toString("utf8")));
    await until(() => printed.includes(`serves MCP at ${url}`) || up.exitCode !== null, {
      what: "perdure up to serve",
      timeoutMs: START_MS,
    });
    if (up.exitCode !== null) throw new Error(`perdure up ended: ${printed}`);
  };
  const interrupt = async (): Promise<void> => {
    if (up.exitCode !== null || up.pid === undefined) return;
    const ended = once(up, "exit");
    process.kill(-up.pid, "SIGINT");
    await ended;
  };

  beforeAll(start);
  afterAll(interrupt);

  test("prints where it serves, the next command, and a curl that works as it is pasted", async () => {
    expect(printed).toContain("npx perdure call generate_report size=large");
    const curl = /curl -s [\s\S]*?\}'/.exec(printed)?.[0] ?? "";
    const { out } = await run(["sh", "-c", curl]);
    expect(JSON.parse(out)).toMatchObject({ result: { resultType: "complete" } });
  });

  test("perdure call runs a tool, shows its progress, answers what was answered beforehand, prints the result", async () => {
    const { code, out, err } = await perdure(
      "call",
      "generate_report",
      "size=small",
      "--answer",
      "approve_outline.approved=true",
    );
    expect({ code, out: JSON.parse(out) }).toEqual({ code: 0, out: { size: "small", approved: true } });
    expect(err).toMatch(/^task [A-Za-z0-9_-]{24}$/m);
    expect(err).toContain("Outline ready");
  });

  test("perdure call prints the text of a synchronous tool, and ends with 1 for a tool's error", async () => {
    expect(await perdure("call", "greet", "name=Ann")).toMatchObject({ code: 0, out: "Hello, Ann!\n" });
    const failed = await perdure("call", "test_error_handling");
    expect(failed).toMatchObject({ code: 1, out: "" });
    expect(failed.err).toContain("intentionally returns an error");
  });

  test("perdure call --watch prints every state as a line of JSON", async () => {
    const { out } = await perdure(
      "call",
      "ask_two",
      "file=/dev/null",
      "--watch",
      "--answer",
      "name.name=A",
      "--answer",
      "colour.name=B",
    );
    const states = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(states.map(({ status }) => status)).toContain("input_required");
    expect(states.at(-1)).toMatchObject({ status: "completed", result: { content: [{ text: "A,B" }] } });
  });

  test("a question that nobody can answer names itself and what to write, and ends with 3", async () => {
    const { code, err } = await perdure("call", "confirm_delete", "filename=a.txt");
    expect(code).toBe(3);
    expect(err).toContain("--answer confirm.confirm=value");
  });

  test("perdure call --detach prints the id alone, perdure watch follows it, from another terminal", async () => {
    const { out } = await perdure("call", "generate_report", "size=small", "--detach");
    expect(out).toMatch(/^[A-Za-z0-9_-]{24}\n$/);
    const watched = await perdure("watch", out.trim(), "--answer", "approve_outline.approved=false");
    expect({ code: watched.code, out: JSON.parse(watched.out) }).toEqual({
      code: 0,
      out: { size: "small", approved: false },
    });
  });

  test("perdure tasks cancel ends a task, and whoever watches it is told and gets 1", async () => {
    const { out } = await perdure("call", "slow_compute", "seconds=600", "--detach");
    const watching = perdure("watch", out.trim());
    const cancelled = await perdure("tasks", "cancel", out.trim());
    expect(cancelled.code).toBe(0);
    const { code, err } = await watching;
    expect(code).toBe(1);
    expect(err).toContain("The task was cancelled");
  });

  test("perdure token prints a token and nothing else, and it is good for what it says", async () => {
    const words = ["token", "--tenant", "globex", "--principal", "bob", "--scope", "a b", "--expires", "30s"];
    const { code, out, err } = await perdure(...words);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const claims = decodeJwt(out.trim());
    expect(claims).toMatchObject({ tenant: "globex", sub: "bob", scope: "a b" });
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(30);
    const client = createWireClient({ url, token: out.trim() });
    const result = await client
      .call("who_calls", { file: "/dev/null" })
      .then(({ taskId = "" }) => client.untilStatus(taskId, "completed"));
    expect(result.result?.structuredContent).toEqual({ tenant: "globex", principal: "bob" });
  });

  test.each([
    { words: ["call", "no_such_tool"], code: 2, says: 'The server has no tool "no_such_tool". It has:' },
    { words: ["call", "greet", "name"], code: 2, says: '"name" is no argument: write key=value' },
    { words: ["call", "slow_compute", "seconds=soon"], code: 2, says: 'seconds: "soon" is no number' },
    { words: ["call", "greet", "name=A", "--answer", "x"], code: 2, says: "write KEY.field=value" },
    { words: ["watch", "AAAAAAAAAAAAAAAAAAAAAAAA"], code: 1, says: "Task not found" },
    { words: ["call", "greet", "name=A", "--token", "nonsense"], code: 1, says: "Give a token with --token" },
    {
      words: ["token", "--tenant", "a", "--principal", "b", "--expires", "soon"],
      code: 1,
      says: "is no duration",
    },
    { words: ["dance"], code: 1, says: "unknown command" },
    { words: ["call", "greet", "--url", "http://127.0.0.1:1/mcp"], code: 1, says: "No server answers at" },
  ])(
    "perdure $words: one clear line, nothing on standard output, exit code $code",
    async ({ words, ...expected }) => {
      const { code, out, err } = await perdure(...words);
      expect({ code, out }).toEqual({ code: expected.code, out: "" });
      expect(err).toContain(expected.says);
      expect(err.trim().split("\n")).toHaveLength(1);
    },
  );

  test("a bad variable stops it with one line that names it, before anything starts", async () => {
    const { code, out, err } = await run([process.execPath, PERDURE, "up"], { PERDURE_LEASE_MS: "soon" });
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain("PERDURE_LEASE_MS");
    expect(err.trim().split("\n")).toHaveLength(1);
  });

  test("Ctrl-C ends every process, and a task goes on where it was at the next start", async () => {
    const { out } = await perdure("call", "generate_report", "size=small", "--detach");
    const taskId = out.trim();
    const children = await descendantsOf(up.pid ?? -1);
    expect(children.length).toBeGreaterThanOrEqual(4);
    const before = url;
    await interrupt();
    expect(up.exitCode).toBe(0);
    await until(() => !children.some(isAlive), { what: "every child process to be gone" });
    await expect(fetch(before, { method: "POST" })).rejects.toThrow("fetch failed");

    await start();
    const watched = await perdure("watch", taskId, "--answer", "approve_outline.approved=true");
    expect(JSON.parse(watched.out)).toEqual({ size: "small", approved: true });
  });
});

test("npm run demo prints exactly the six lines, and leaves no process and no file behind", async () => {
  const folder = join(dataDir, "demo");
  mkdirSync(folder);
  const { code, out } = await run(["npm", "run", "--silent", "demo"], { TMPDIR: folder });
  expect({ code, lines: out.split("\n") }).toEqual({
    code: 0,
    lines: [
      "id=0 resultType=complete status=ack",
      "id=1 resultType=task status=working",
      "id=2 resultType=complete status=working",
      "id=3 resultType=complete status=input_required",
      "id=4 resultType=complete status=ack",
      "id=5 resultType=complete status=completed",
      "",
    ],
  });
  // npm leaves a cache of its own.
  expect((await readdir(folder)).filter((name) => name.startsWith("perdure"))).toEqual([]);
  // Each part of a stack has the stack's folder in its command line or in its environment.
  for (const entry of await readdir("/proc")) {
    const about = [`/proc/${entry}/cmdline`, `/proc/${entry}/environ`];
    const texts = await Promise.all(about.map((file) => readFile(file, "utf8").catch(() => "")));
    expect(texts.join()).not.toContain(folder);
  }
});
