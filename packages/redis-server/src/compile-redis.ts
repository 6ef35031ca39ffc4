import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { runCommand } from "./run-command.ts";
import type { CommandResult } from "./run-command.ts";

/** What is compiled: the last line of Redis under the BSD licence. */
const REDIS_VERSION = "7.2.11";
const BUILDER = "redis-memory-server@0.17.1";
const BUILD_TIMEOUT_MS = 15 * 60_000;

/** Where `compileRedis` leaves its server. */
export function compiledServerPath(dataDir: string): string {
  return join(buildDir(dataDir), REDIS_VERSION, "redis-server");
}

/**
 * Downloads and compiles a server into `<dataDir>/redis-build`, in minutes. Needs npm, make and a C compiler.
 * The builder is fetched on demand because installing it compiles at once, which every `npm ci` would pay for.
 */
export async function compileRedis(dataDir: string): Promise<CommandResult> {
  const dir = buildDir(dataDir);
  await mkdir(dir, { recursive: true });
  await writeFile(join(dir, "package.json"), `{ "private": true }\n`);
  const installed = await runCommand(
    "npm",
    ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-save", "--prefix", dir, BUILDER],
    { timeoutMs: BUILD_TIMEOUT_MS, cwd: dir },
  );
  if (!installed.ok) return installed;
  return runCommand(
    process.execPath,
    [join(dir, "node_modules/redis-memory-server/scripts/postinstall.js")],
    {
      timeoutMs: BUILD_TIMEOUT_MS,
      cwd: dir,
      env: {
        REDISMS_DOWNLOAD_DIR: dir,
        REDISMS_VERSION: REDIS_VERSION,
        // The builder checks the server's certificate only when npm's environment says so.
        npm_config_strict_ssl: "true",
      },
    },
  );
}

function buildDir(dataDir: string): string {
  return resolve(dataDir, "redis-build");
}
