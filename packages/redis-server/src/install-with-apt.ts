import { fileURLToPath } from "node:url";
import { runCommand } from "./run-command.ts";
import type { CommandResult } from "./run-command.ts";

const SCRIPT = fileURLToPath(new URL("../apt/install-redis.sh", import.meta.url));
const INSTALL_TIMEOUT_MS = 10 * 60_000;

/**
 * Installs the system's `redis-server` package, and leaves no service of it running or enabled.
 * Undefined where that cannot be done without asking: no apt, or neither root nor a sudo that needs no password.
 */
export async function installWithApt(say: (line: string) => void): Promise<CommandResult | undefined> {
  const apt = await runCommand("apt-get", ["--version"], { timeoutMs: 5_000 });
  if (!apt.ok) return undefined;
  const isRoot = process.getuid?.() === 0;
  if (!isRoot && !(await runCommand("sudo", ["-n", "true"], { timeoutMs: 5_000 })).ok) return undefined;
  say(`No Redis on this machine: installing it with apt-get${isRoot ? "" : " (sudo)"}, its service left off`);
  const [command, args] = isRoot ? ["sh", [SCRIPT]] : ["sudo", ["-n", "sh", SCRIPT]];
  return runCommand(command, args, { timeoutMs: INSTALL_TIMEOUT_MS });
}
