import { execFile } from "node:child_process";
import { existsSync, globSync, readFileSync, readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { VARIABLES } from "@perdure/runtime";

/* The documents name paths and commands; each must be there, or a newcomer's first five minutes end in an error. */

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);
const DOCUMENTS = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  ...globSync("docs/*.md", { cwd: root }),
];
const textOf = (document: string): string => readFileSync(join(root, document), "utf8");

const topFolders = readdirSync(root, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && !["node_modules", ".git", ".perdure"].includes(entry.name))
  .map((entry) => entry.name.replaceAll(".", "\\."));
/** A path from the top of the repository: `packages/tasks/src/moves.ts`, `test/cluster/`. */
const PATH = new RegExp(`(?<![\\w./@:-])(?:${topFolders.join("|")})/[\\w.*{},/-]*[\\w*/}]`, "g");
const LINK = /\]\((?!\w+:|#)([^)#\s]+)[^)]*\)/g;
/** A file by its bare name, in a code span: `moves.ts`. */
const FILE = /`(\w[\w.-]*\.(?:ts|lua|js|mjs|yml|yaml|json|md))`/g;
const SCRIPT = /\bnpm (?:run (?:-[\w-]+ )*([\w:-]+)|(test|start)\b)/g;
const COMMAND = /(?:\b(?:npx|npm exec) |`)perdure ([a-z][\w-]*)/g;

const matches = (text: string, pattern: RegExp): string[] => [
  ...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? match[0])),
];

describe.each(DOCUMENTS)("%s", (document) => {
  test("names only paths that exist", () => {
    const text = textOf(document);
    const paths = matches(text, PATH).filter(
      (path) => globSync(path.replace(/\/$/, ""), { cwd: root }).length === 0,
    );
    const links = matches(text, LINK).filter((path) => !existsSync(join(root, dirname(document), path)));
    expect([...paths, ...links]).toEqual([]);
  });

  test("names only npm scripts that exist", () => {
    const manifest: { scripts: Record<string, string> } = JSON.parse(textOf("package.json"));
    expect(
      matches(textOf(document), SCRIPT).filter((script) => !Object.hasOwn(manifest.scripts, script)),
    ).toEqual([]);
  });

  test("names only perdure commands that exist", async () => {
    const text = textOf(document);
    const named = matches(text, COMMAND);
    const help = await Promise.all(named.map(async (command) => [command, await helpOf(command)] as const));
    expect(
      help
        .filter(([command, text]) => !text.includes(`Usage: perdure ${command}`))
        .map(([command]) => command),
    ).toEqual([]);
  });
});

test.each(["ARCHITECTURE.md", "CONTRIBUTING.md"])(
  "%s names only files that are somewhere in the repository",
  (document) => {
    const names = new Set(
      globSync(["*", ".ci/*", "{apps,packages,test,docs,deploy}/**/*"], {
        cwd: root,
        exclude: (name) => name === "node_modules",
      }).map((path) => basename(path)),
    );
    expect(matches(textOf(document), FILE).filter((name) => !names.has(name))).toEqual([]);
  },
);

test("the README's table lists every variable, in order, with its default", () => {
  const rows = textOf("README.md")
    .split("\n")
    .filter((line) => /^\|\s*`PERDURE_/.test(line))
    .map((line) =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map((cell) => cell.replaceAll("`", "").trim()),
    );
  expect(rows.map(([name]) => name)).toEqual(VARIABLES.map(({ name }) => name));
  const wrong = VARIABLES.filter((variable, at) => {
    const cells = rows[at]?.slice(1) ?? [];
    return variable.default === undefined
      ? !cells.some((cell) => ["", "-", "—", "none"].includes(cell))
      : !cells.includes(variable.default);
  });
  expect(wrong.map(({ name }) => name)).toEqual([]);
});

test("CONTRIBUTING.md gives a reason for every dependency, and for no other", () => {
  const manifests = globSync(["package.json", "{apps,packages}/*/package.json"], { cwd: root });
  const ours = /^(?:@perdure\/|perdure$)/;
  const used = manifests.flatMap((path) => {
    const manifest: Record<"dependencies" | "devDependencies", Record<string, string> | undefined> =
      JSON.parse(textOf(path));
    return Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
  });
  const reasons = textOf("CONTRIBUTING.md").split("## Dependencies")[1] ?? "";
  const explained = [...reasons.matchAll(/^\| (`.+?`) \|/gm)].flatMap(([, cell = ""]) =>
    cell.replaceAll("`", "").split(", "),
  );
  expect(explained.toSorted()).toEqual([...new Set(used)].filter((name) => !ours.test(name)).toSorted());
});

async function helpOf(command: string): Promise<string> {
  const bin = join(root, "apps/cli/bin/perdure.js");
  try {
    const { stdout } = await run(process.execPath, [bin, command, "--help"], { timeout: 20_000 });
    return stdout;
  } catch (error) {
    return String(error);
  }
}
