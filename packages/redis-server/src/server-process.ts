import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { atExit } from "./at-exit.ts";
import type { RedisBinary } from "./redis-binary.ts";
import { runCommand } from "./run-command.ts";

/** A child process that runs a server in the foreground. */
export interface ServerProcess {
  /** Of the server; of Docker's client when a container runs it. */
  readonly pid: number;
  /** The last lines that it printed, oldest first. */
  readonly log: readonly string[];
  /** Resolves when the process has ended. Never rejects. */
  readonly ended: Promise<void>;
  readonly hasEnded: () => boolean;
  /** Sends a signal to the server, and resolves when it is sent. */
  signal(name: "SIGTERM" | "SIGKILL"): Promise<void>;
}

/** What to run. `args` are those of `redis-server`. */
export interface ServerCommand {
  readonly binary: RedisBinary;
  readonly args: readonly string[];
  readonly dir: string;
  readonly port: number;
  /** Unique on the machine: names the container. */
  readonly name: string;
}

const LOG_LINES = 20;
const CONTAINER_PORT = 6379;

/**
 * Starts the server as a child that does not outlive this process: where Linux's `setpriv` is there even a SIGKILL of
 * this process ends it; elsewhere a normal exit does. It has a process group of its own, so that a Ctrl-C in the
 * terminal reaches this process alone, which can then stop things in order.
 */
export async function startServerProcess(command: ServerCommand): Promise<ServerProcess> {
  const [program, args] = commandLine(command);
  const prefix = (await hasParentDeathSignal()) ? ["setpriv", "--pdeathsig", "TERM"] : [];
  const [file = program, ...rest] = [...prefix, program, ...args];
  const child = spawn(file, rest, { stdio: ["ignore", "pipe", "pipe"], detached: true });
  const log: string[] = [];
  const keep = (line: string): void => {
    log.push(line);
    if (log.length > LOG_LINES) log.shift();
  };
  createInterface({ input: child.stdout }).on("line", keep);
  createInterface({ input: child.stderr }).on("line", keep);

  let over = false;
  const send = (name: "SIGTERM" | "SIGKILL"): void => {
    if (over) return;
    child.kill(name);
    child.kill("SIGCONT"); // A stopped process gets the first signal only once it goes on.
  };
  const forget = atExit(() => {
    if (command.binary.kind === "container") {
      spawnSync("docker", ["kill", "--signal", "TERM", command.name], { stdio: "ignore", timeout: 5_000 });
    }
    send("SIGTERM");
  });
  const ended = new Promise<void>((resolve) => {
    child.once("error", (error) => keep(error.message));
    child.once("close", () => {
      over = true;
      forget();
      resolve();
    });
  });
  await Promise.race([once(child, "spawn"), ended]).catch(() => ended);

  return {
    pid: child.pid ?? 0,
    log,
    ended,
    hasEnded: () => over,
    async signal(name) {
      if (command.binary.kind === "program") return send(name);
      if (over) return;
      await runCommand("docker", ["kill", "--signal", name.slice(3), command.name], { timeoutMs: 10_000 });
    },
  };
}

function commandLine({ binary, args, dir, port, name }: ServerCommand): [string, readonly string[]] {
  if (binary.kind === "program") {
    return [
      binary.path,
      [...args, "--dir", dir, "--port", String(port), "--bind", "127.0.0.1", "--protected-mode", "yes"],
    ];
  }
  const user = process.getuid && process.getgid ? ["--user", `${process.getuid()}:${process.getgid()}`] : [];
  const publish = ["--publish", `127.0.0.1:${port}:${CONTAINER_PORT}`, "--volume", `${dir}:/data`];
  const run = ["run", "--rm", "--name", name, ...user, ...publish, binary.image];
  // Inside its network the server sees a client of the published port as a foreign one; only loopback reaches that port.
  const inside = ["--dir", "/data", "--port", String(CONTAINER_PORT), "--protected-mode", "no"];
  return ["docker", [...run, "redis-server", ...args, ...inside]];
}

let parentDeathSignal: Promise<boolean> | undefined;

function hasParentDeathSignal(): Promise<boolean> {
  parentDeathSignal ??= runCommand("setpriv", ["--pdeathsig", "TERM", "true"], { timeoutMs: 5_000 }).then(
    ({ ok }) => ok,
  );
  return parentDeathSignal;
}
