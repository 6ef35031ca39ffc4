import { spawn } from "node:child_process";

/** How to run a command. It is killed at the deadline, and gets no input. */
export interface CommandOptions {
  readonly timeoutMs: number;
  readonly cwd?: string;
  /** Added to this process's environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** How a command ended: `ok` when it gave 0. `output` is what it printed, both streams, the last 64 KB. */
export interface CommandResult {
  readonly ok: boolean;
  readonly output: string;
}

const OUTPUT_LIMIT = 65_536;

/** Runs a command to its end. One that does not exist or hangs is `ok: false`; nothing is thrown. */
export function runCommand(
  command: string,
  args: readonly string[],
  { timeoutMs, cwd, env }: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
      ...(cwd !== undefined && { cwd }),
      env: { ...process.env, ...env },
    });
    let output = "";
    const collect = (chunk: Buffer): void => {
      output = (output + chunk.toString("utf8")).slice(-OUTPUT_LIMIT);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.once("error", (error) => resolve({ ok: false, output: error.message }));
    child.once("close", (code) => resolve({ ok: code === 0, output: output.trim() }));
  });
}
