import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { askServer } from "./ask-server.ts";
import { RedisServerError } from "./redis-server-error.ts";

const FILE = "perdure-redis.json";

/*
 * Two servers on one folder would both append to the same file and spoil it. A note in the folder says which server
 * was started there last; it counts only while that very server (its run id) still answers, so a crash leaves nothing to clean up.
 */

/** Throws `redis_dir_in_use` when the server that was last started on the folder still runs. */
export async function assertDirIsFree(dir: string): Promise<void> {
  const note = await readNote(dir);
  if (note === undefined) return;
  const identity = await askServer(note.port);
  if (identity?.runId !== note.runId) return;
  throw new RedisServerError(
    "redis_dir_in_use",
    `A Redis server (port ${note.port}, process ${identity.processId}) already keeps its data in ${dir}: stop it, or use another folder.`,
  );
}

/** Notes that this server keeps its data in the folder. */
export async function noteDirOwner(dir: string, note: { port: number; runId: string }): Promise<void> {
  await writeFile(join(dir, FILE), `${JSON.stringify(note)}\n`);
}

async function readNote(dir: string): Promise<{ port: number; runId: string } | undefined> {
  try {
    const note: unknown = JSON.parse(await readFile(join(dir, FILE), "utf8"));
    if (typeof note !== "object" || note === null || !("port" in note) || !("runId" in note))
      return undefined;
    const { port, runId } = note;
    return typeof port === "number" && typeof runId === "string" ? { port, runId } : undefined;
  } catch {
    return undefined; // No note, or one that a crash cut off: nothing can be said, so nothing is in the way.
  }
}
