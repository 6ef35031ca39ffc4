import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The key that seals `requestState`, kept in the data folder: a call that is waiting for input outlives a restart. */
export async function dataSecret(dataDir: string): Promise<string> {
  const file = join(dataDir, "secret");
  const kept = await readFile(file, "utf8").catch(() => "");
  if (kept !== "") return kept;
  const made = randomBytes(32).toString("base64");
  await writeFile(file, made, { mode: 0o600 });
  return made;
}
