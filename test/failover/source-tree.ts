import { execFile } from "node:child_process";
import { cp, lstat, mkdir, readFile, readdir, realpath, symlink } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The tree of sources that this file is part of. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const COPIED = [
  "apps",
  "packages",
  "test",
  "package.json",
  "tsconfig.json",
  "vitest.config.ts",
  "vitest.faults.config.ts",
];
const SKIPPED = new Set(["node_modules", "dist", "results", ".perdure"]);
const LAYOUT = "packages/redis/src/layout.ts";
const AUDIT = "packages/redis/lua/prelude/audit.lua";

/** Copies this tree to a new folder, where it runs by itself: its packages find one another there, and nowhere else. */
export async function copyTree(to: string): Promise<void> {
  for (const path of COPIED) {
    await mkdir(dirname(join(to, path)), { recursive: true });
    await cp(join(ROOT, path), join(to, path), {
      recursive: true,
      filter: (file) => !SKIPPED.has(basename(file)),
    });
  }
  await linkModules(to);
}

/** An older build, to restart roles with, and what it is in words. */
export interface PreviousBuild {
  readonly root: string;
  readonly about: string;
}

/**
 * Makes the previous build in a new folder: the given revision; else the oldest one whose records have this layout and that
 * tells the same audit; else, where there is no history, a copy of this very tree, and says so.
 */
export async function makePreviousBuild(to: string, asked: string): Promise<PreviousBuild> {
  const revision = asked === "" ? await oldestThatFits() : asked;
  if (revision === undefined) {
    await copyTree(to);
    return {
      root: to,
      about: "a copy of this very build: there is no history here to take an older one from",
    };
  }
  await mkdir(to, { recursive: true });
  const archive = join(to, "build.tar");
  await run("git", [
    "-C",
    ROOT,
    "archive",
    "--output",
    archive,
    revision,
    "apps",
    "packages",
    "package.json",
  ]);
  await run("tar", ["-xf", archive, "-C", to]);
  await linkModules(to);
  const { stdout } = await run("git", ["-C", ROOT, "log", "-1", "--format=%h %s", revision]);
  const { stdout: between } = await run("git", ["-C", ROOT, "rev-list", "--count", `${revision}..HEAD`]);
  return { root: to, about: `${stdout.trim()} (${between.trim()} commits before HEAD)` };
}

async function oldestThatFits(): Promise<string | undefined> {
  try {
    const { stdout: top } = await run("git", ["-C", ROOT, "rev-parse", "--show-toplevel"]);
    if ((await realpath(top.trim())) !== (await realpath(ROOT))) return undefined;
    const { stdout } = await run("git", ["-C", ROOT, "rev-list", "--reverse", "HEAD", "--", AUDIT, LAYOUT]);
    const layout = layoutVersion(await readFile(join(ROOT, LAYOUT), "utf8"));
    const audit = await readFile(join(ROOT, AUDIT), "utf8");
    for (const revision of stdout.split("\n").filter(Boolean)) {
      if ((await textAt(revision, AUDIT)) !== audit) continue;
      if (layoutVersion(await textAt(revision, LAYOUT)) === layout) return revision;
    }
    return undefined;
  } catch {
    return undefined;
  }
}

/** A file as it was; "" when it was not there. */
function textAt(revision: string, path: string): Promise<string> {
  return run("git", ["-C", ROOT, "show", `${revision}:${path}`]).then(
    ({ stdout }) => stdout,
    () => "",
  );
}

function layoutVersion(text: string): string | undefined {
  return /LAYOUT_VERSION = (\d+)/.exec(text)?.[1];
}

/** Makes `node_modules`: siblings are the folder's own, everything else is borrowed from this tree. */
async function linkModules(to: string): Promise<void> {
  const from = join(ROOT, "node_modules");
  const siblings: string[] = [];
  const link = async (name: string): Promise<void> => {
    const real = await realpath(join(from, name));
    const inside = relative(await realpath(ROOT), real);
    const isSibling = !inside.startsWith("..") && !inside.split(sep).includes("node_modules");
    const path = join(to, "node_modules", name);
    await symlink(isSibling ? join(await realpath(to), inside) : real, path);
    if (isSibling) siblings.push(path);
  };
  await mkdir(join(to, "node_modules"), { recursive: true });
  for (const name of await readdir(from)) {
    if (name.startsWith(".")) continue;
    const isScope = name.startsWith("@") && !(await lstat(join(from, name))).isSymbolicLink();
    if (!isScope) {
      await link(name);
      continue;
    }
    await mkdir(join(to, "node_modules", name), { recursive: true });
    for (const member of await readdir(join(from, name))) await link(`${name}/${member}`);
  }
  await assertOwnSiblings(to, siblings);
}

/** A copy that ran another tree's sources would prove nothing. */
async function assertOwnSiblings(to: string, siblings: readonly string[]): Promise<void> {
  const home = await realpath(to);
  if (siblings.length === 0) throw new Error(`No package of ours in ${to}/node_modules`);
  for (const path of siblings) {
    // An older build may lack a package that is there by now.
    const real = await realpath(path).catch(() => home);
    if (!real.startsWith(home)) throw new Error(`${path} leads out of the copy, to ${real}`);
  }
}
