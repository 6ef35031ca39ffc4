/*
 * `npm pack` and `npm publish` run this before (`before`) and after (`after`).
 *
 * The workspace runs on sources: its manifest has the condition "perdure-source", which a packed copy must not have,
 * since the sources are not in it and a server that runs on sources would look for them there. A packed copy shares zod
 * with its user (a peer), so that both mean the same types. The manifest is put back afterwards; while it is away, the
 * build stands in for the sources, so that whoever reads it meanwhile finds a package that works.
 */
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";

const here = (path) => new URL(path, import.meta.url);
const manifest = here("package.json");
const kept = here(".package.json.kept");

if (process.argv[2] === "after") {
  if (existsSync(kept)) renameSync(kept, manifest);
  rmSync(here("LICENSE"), { force: true });
} else {
  if (!existsSync(kept)) copyFileSync(manifest, kept);
  copyFileSync(here("../../LICENSE"), here("LICENSE"));
  const { scripts: _scripts, dependencies: _dependencies, ...rest } = JSON.parse(readFileSync(kept, "utf8"));
  for (const way of Object.values(rest.exports)) delete way["perdure-source"];
  writeFileSync(manifest, `${JSON.stringify({ ...rest, peerDependencies: { zod: "^4.2.0" } }, null, 2)}\n`);
}
