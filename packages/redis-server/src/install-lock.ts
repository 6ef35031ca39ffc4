import { readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

const POLL_MS = 200;

/**
 * Runs `action` while no other process of this user on the machine installs. A lock whose process is gone does not count;
 * `file` is for tests.
 */
export async function withInstallLock<Value>(
  action: () => Promise<Value>,
  file = join(tmpdir(), `perdure-redis-install-${process.getuid?.() ?? 0}.lock`),
): Promise<Value> {
  while (!(await tryLock(file))) await wait(POLL_MS);
  try {
    return await action();
  } finally {
    await rm(file, { force: true });
  }
}

async function tryLock(file: string): Promise<boolean> {
  try {
    await writeFile(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  const holder = Number(await readFile(file, "utf8").catch(() => ""));
  // An empty file is a lock that is being written: it is looked at again.
  if (holder > 0 && !isAlive(holder)) await rm(file, { force: true });
  return false;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
