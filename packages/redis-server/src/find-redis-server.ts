import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { compiledServerPath } from "./compile-redis.ts";
import type { RedisBinary } from "./redis-binary.ts";
import { runCommand } from "./run-command.ts";

/** The oldest Redis that the scripts and BullMQ are made for. Every Valkey is newer. */
export const OLDEST_REDIS = "6.2";

const NAMES = ["redis-server", "valkey-server"];
const USUAL_PLACES = [
  "/usr/bin",
  "/usr/local/bin",
  "/usr/sbin",
  "/usr/local/sbin",
  "/opt/homebrew/bin",
  "/opt/local/bin",
  "/opt/redis/bin",
  "/opt/valkey/bin",
  "/opt/redis-stack/bin",
  "/snap/bin",
];

/** Where to look beside the `PATH` and the usual places. */
export interface FindOptions {
  /** The folder under which an earlier `ensureRedisServer` may have compiled one. Default `.perdure`. */
  readonly dataDir?: string;
}

/** A Redis or Valkey server of a usable version on this machine; undefined when there is none. Installs nothing. */
export async function findRedisServer({ dataDir = ".perdure" }: FindOptions = {}): Promise<
  RedisBinary | undefined
> {
  const folders = [...(process.env["PATH"] ?? "").split(delimiter), ...USUAL_PLACES].filter(
    (folder) => folder !== "",
  );
  const paths = new Set(folders.flatMap((folder) => NAMES.map((name) => join(folder, name))));
  paths.add(compiledServerPath(dataDir));
  for (const path of paths) {
    if (await isUsable(path)) return { kind: "program", path };
  }
  return undefined;
}

async function isUsable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
  } catch {
    return false;
  }
  const { ok, output } = await runCommand(path, ["--version"], { timeoutMs: 5_000 });
  return ok && isNewEnough(output);
}

/** True for the text of `--version` of a server that is at least {@link OLDEST_REDIS}. */
export function isNewEnough(versionText: string): boolean {
  const found = /\bv=(\d+)\.(\d+)/.exec(versionText);
  const [oldMajor = 0, oldMinor = 0] = OLDEST_REDIS.split(".").map(Number);
  const [major, minor] = [Number(found?.[1] ?? 0), Number(found?.[2] ?? 0)];
  return major > oldMajor || (major === oldMajor && minor >= oldMinor);
}
