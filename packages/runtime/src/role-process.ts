import { type ChildProcess, spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** How to start one role as a process of its own. */
export interface RoleProcessOptions {
  /** Shown in errors: "replica", "worker". */
  readonly name: string;
  /** The role's entry file. */
  readonly main: string;
  /** Replaces the environment but for PATH, HOME and the like: only what is given here and `process.env` without `PERDURE_*`. */
  readonly env: Readonly<Record<string, string>>;
  /** Where its standard output and error go. */
  readonly logFile: string;
  /** The role's ops port, asked for readiness. */
  readonly opsPort: number;
  /** Milliseconds until it must be ready. Default 20,000. */
  readonly readyDeadlineMs?: number;
}

/** A running role. */
export interface RoleProcess {
  readonly name: string;
  readonly pid: number;
  readonly opsUrl: string;
  /** Resolves with the exit code, or the signal's name, when the process is gone. */
  readonly exited: Promise<number | NodeJS.Signals>;
  /** SIGTERM, then SIGKILL after `deadlineMs` (default 15,000). Idempotent. */
  stop(deadlineMs?: number): Promise<void>;
  /** Sends a signal now. */
  signal(signal: NodeJS.Signals): void;
}

const LAST_LINES = 12;

/** Starts a role and resolves once its `/readyz` says 200. A role that ends first gives an error with its last lines. */
export async function startRoleProcess(options: RoleProcessOptions): Promise<RoleProcess> {
  const log = createWriteStream(options.logFile, { flags: "a" });
  const child = spawn(process.execPath, ["--conditions=perdure-source", options.main], {
    env: { ...withoutOwnVariables(process.env), ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lastLines = keepLastLines(child, log);
  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once("error", () => resolve(127));
    child.once("exit", (code, signal) => resolve(code ?? signal ?? 0));
  });
  let isGone = false;
  child.once("close", () => {
    isGone = true;
    log.end();
  });

  const opsUrl = `http://127.0.0.1:${options.opsPort}`;
  const role: RoleProcess = {
    name: options.name,
    pid: child.pid ?? -1,
    opsUrl,
    exited,
    async stop(deadlineMs = 15_000) {
      if (isGone) return;
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), deadlineMs);
      await exited;
      clearTimeout(timer);
    },
    signal: (signal) => void child.kill(signal),
  };

  const deadline = performance.now() + (options.readyDeadlineMs ?? 20_000);
  while (!(await isReady(opsUrl))) {
    if (isGone) {
      throw new Error(
        `The ${options.name} ended before it was ready (${await exited}).\n${lastLines().join("\n")}`,
      );
    }
    if (performance.now() > deadline) {
      await role.stop(2_000);
      throw new Error(`The ${options.name} was not ready in time.\n${lastLines().join("\n")}`);
    }
    await delay(40);
  }
  return role;
}

async function isReady(opsUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${opsUrl}/readyz`, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}

/** A parent's PERDURE_* must not leak into a child that is configured here. */
function withoutOwnVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("PERDURE_")));
}

function keepLastLines(child: ChildProcess, log: NodeJS.WritableStream): () => readonly string[] {
  let lines: string[] = [];
  const keep = (chunk: Buffer): void => {
    log.write(chunk);
    lines = [...lines, ...chunk.toString("utf8").split("\n").filter(Boolean)].slice(-LAST_LINES);
  };
  child.stdout?.on("data", keep);
  child.stderr?.on("data", keep);
  return () => lines;
}
