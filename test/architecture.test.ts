import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";

/*
 * The house rules, read from the manifests and the imports themselves: npm hoists workspaces, so an arrow that nobody
 * declared would still compile. A new arrow is a design decision, and is made in this table first.
 */

/** Which siblings each package may import, by folder. testkit is nobody's: tests declare it as a devDependency. */
const ARROWS: Record<string, readonly string[]> = {
  tasks: [],
  protocol: [],
  toolkit: [],
  runtime: [],
  "redis-server": [],
  redis: ["tasks"],
  "demo-tools": ["toolkit"],
  testkit: ["tasks", "redis-server", "runtime"],
  api: ["tasks", "protocol", "toolkit", "runtime", "redis", "demo-tools"],
  worker: ["tasks", "toolkit", "runtime", "redis", "demo-tools"],
  cli: ["api", "worker", "tasks", "protocol", "toolkit", "runtime", "redis", "redis-server", "demo-tools"],
};

/** Chosen in an app's main.ts alone, and in the command that runs a whole stack in one process. */
const ADAPTERS = new Set(["@perdure/redis", "ioredis", "bullmq"]);
const MAY_CHOOSE_ADAPTERS = /^apps\/(?:[^/]+\/src\/main|cli\/src\/(?:commands\/up|stack\/[^/]+))\.ts$/;

/** Put before every script: no step of its own, so its header tells what it is for. */
const PRELUDE = /^packages\/redis\/lua\/prelude\//;
const TESTING = /^(?:apps|packages)\/[^/]+\/src\/testing\//;
const ATTICS = /^(?:utils?|commons?|shared|helpers?|types|interfaces)(?:\.|$)/;
const LIMITS = [
  { what: /^apps\/[^/]+\/src\/main\.ts$/, lines: 60 },
  { what: /\.lua$/, lines: 80 },
  { what: /\.test\.ts$|^packages\/testkit\/|^test\//, lines: 600 },
  { what: /\.ts$/, lines: 400 },
];

interface Manifest {
  readonly name: string;
  readonly exports?: Record<string, Record<string, string>>;
  readonly dependencies?: Record<string, string>;
  readonly devDependencies?: Record<string, string>;
}

const IMPORT =
  /^\s*(?:import|export)\b[^;"'`]*?\bfrom\s+"([^"]+)"|^\s*import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm;
const importsOf = (text: string): string[] =>
  [...text.matchAll(IMPORT)].map((m) => m[1] ?? m[2] ?? m[3] ?? "");
const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
/** What tests alone may import lies in a `testing` folder. */
const isTest = (file: string): boolean => file.endsWith(".test.ts") || TESTING.test(file);

function filesIn(root: string, folder: string): string[] {
  const skip = new Set(["node_modules", "dist", ".git", ".perdure", "results"]);
  const walk = (dir: string): string[] =>
    readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
      if (skip.has(entry.name)) return [];
      const path = join(dir, entry.name);
      return entry.isDirectory() ? [`${path}/`, ...walk(path)] : [path];
    });
  return walk(join(root, folder)).map(
    (path) => relative(root, path).split(sep).join("/") + (path.endsWith("/") ? "/" : ""),
  );
}

/** Every broken rule in the house at `root`, one line each. */
function problemsOf(root: string): string[] {
  const problems: string[] = [];
  const read = (path: string): string => readFileSync(join(root, path), "utf8");
  const manifestAt = (path: string): Manifest => JSON.parse(read(path));
  const files = ["apps", "packages", "test"].flatMap((folder) => filesIn(root, folder));
  const rootTools = Object.keys(manifestAt("package.json").devDependencies ?? {});
  const homes = files.filter((f) => /^(?:apps|packages)\/[^/]+\/package\.json$/.test(f)).map(dirname);
  const manifests = new Map(homes.map((home) => [home, manifestAt(`${home}/package.json`)]));
  const siblings = new Map(
    [...manifests].map(([home, manifest]) => [manifest.name, { ...manifest, folder: basename(home) }]),
  );
  const mayImport = (home: string, name: string): boolean =>
    ARROWS[basename(home)]?.includes(siblings.get(name)?.folder ?? "") ?? false;

  for (const [home, manifest] of manifests) {
    if (!ARROWS[basename(home)]) problems.push(`${home}: has no arrows in the table`);
    for (const name of Object.keys(manifest.dependencies ?? {}))
      if (siblings.has(name) && !mayImport(home, name))
        problems.push(`${home}: depends on ${name}, which no arrow allows`);
    const indexes = files.filter((f) => f.startsWith(`${home}/`) && basename(f) === "index.ts");
    const wanted = home.startsWith("packages/") || manifest.exports ? [`${home}/src/index.ts`] : [];
    if (indexes.join() !== wanted.join())
      problems.push(`${home}: one index.ts, in src/; found ${indexes.join(", ") || "none"}`);
  }

  for (const file of files) {
    const name = basename(file);
    if (ATTICS.test(name)) problems.push(`${file}: an attic; name it after what is in it`);
    if (!/\.(?:ts|lua)$/.test(file)) continue;
    const text = read(file);
    const limit = LIMITS.find(({ what }) => what.test(file));
    const lines = text.trimEnd().split("\n").length;
    if (limit && lines > limit.lines) problems.push(`${file}: ${lines} lines, ${limit.lines} at most`);
    if (file.endsWith(".lua")) {
      const header = /^--\[\[[^]*?\]\]|^(?:--.*\n)*/.exec(text)?.[0] ?? "";
      const words = PRELUDE.test(file) ? ["--"] : ["KEYS", "ARGV", "Reply"];
      for (const word of words)
        if (!header.includes(word)) problems.push(`${file}: the header does not tell ${word}`);
      continue;
    }
    const home = homes.find((h) => file.startsWith(`${h}/`));
    const manifest = home && manifests.get(home);
    if (!home || !manifest) continue;
    const declared = new Set(Object.keys(manifest.dependencies ?? {}));
    if (isTest(file))
      for (const tool of [...rootTools, ...Object.keys(manifest.devDependencies ?? {})]) declared.add(tool);
    for (const specifier of importsOf(text)) {
      const target = packageOf(specifier);
      const said = `${file}: imports ${specifier}`;
      if (specifier.startsWith(".")) {
        const path = relative(root, resolve(root, dirname(file), specifier))
          .split(sep)
          .join("/");
        if (!path.startsWith(`${home}/`)) problems.push(`${said}, outside its package`);
        if (TESTING.test(path) && !isTest(file)) problems.push(`${said}, which is for tests alone`);
        continue;
      }
      if (manifest.name === "@perdure/tasks" && !isTest(file) && specifier !== "node:crypto")
        problems.push(`${said}: the domain imports node:crypto alone`);
      if (isBuiltin(specifier)) {
        if (!specifier.startsWith("node:")) problems.push(`${said} without node:`);
        continue;
      }
      if (target === manifest.name) continue;
      if (!declared.has(target)) problems.push(`${said}, which its package.json does not declare`);
      if (siblings.has(target)) {
        const way = specifier === target ? "." : `.${specifier.slice(target.length)}`;
        if (!siblings.get(target)?.exports?.[way]) problems.push(`${said}, which ${target} does not export`);
        if (!isTest(file) && !mayImport(home, target)) problems.push(`${said}, which no arrow allows`);
      }
      if (
        home.startsWith("apps/") &&
        ADAPTERS.has(target) &&
        !isTest(file) &&
        !MAY_CHOOSE_ADAPTERS.test(file)
      )
        problems.push(`${said}: adapters are chosen in main.ts`);
    }
  }
  return problems;
}

test("the house keeps its rules: arrows, declared imports, adapters at the edge, sizes, headers, names", () => {
  expect(problemsOf(fileURLToPath(new URL("..", import.meta.url)))).toEqual([]);
});

const manifest = (name: string, dependencies: string[] = []): string =>
  JSON.stringify({
    name,
    exports: { ".": { "perdure-source": "./src/index.ts" } },
    dependencies: Object.fromEntries(dependencies.map((dependency) => [dependency, "1"])),
  });

describe("the rules see what breaks them", () => {
  const root = mkdtempSync(join(tmpdir(), "perdure-house-"));
  afterAll(() => rmSync(root, { recursive: true }));
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  put("package.json", JSON.stringify({ name: "house", devDependencies: { vitest: "1" } }));
  put("test/some.test.ts", "");
  put("packages/tasks/package.json", manifest("@perdure/tasks"));
  put("packages/tasks/src/index.ts", 'import { readFile } from "node:fs";\n');
  put("packages/tasks/src/more/index.ts", "");
  put("packages/tasks/src/helpers.ts", "");
  put(
    "packages/redis/package.json",
    manifest("@perdure/redis", ["@perdure/tasks", "@perdure/runtime", "ioredis"]),
  );
  put(
    "packages/redis/src/index.ts",
    'export { a } from "@perdure/tasks/src/a.ts";\nimport x from "../../tasks/src/x.ts";\n',
  );
  put("packages/redis/lua/move.lua", "-- KEYS[1] record\nreturn 1\n".concat("--\n".repeat(80)));
  put("packages/redis/lua/prelude/read.lua", "local a = 1\n");
  put("packages/redis/lua/fine.lua", "--[[\n  KEYS due\n  ARGV op\n  Reply done\n]]\nreturn 1\n");
  put("packages/redis/src/testing/bench.ts", 'import { test } from "vitest";\n');
  put("packages/redis/src/store.ts", 'import { bench } from "./testing/bench.ts";\n');
  put("packages/runtime/package.json", manifest("@perdure/runtime"));
  put("packages/runtime/src/index.ts", 'import {\n  z,\n} from "zod";\nimport { test } from "vitest";\n');
  put("packages/runtime/src/utils/clock.ts", "\n".repeat(400).concat("export {};\n"));
  put("apps/api/package.json", manifest("@perdure/api", ["@perdure/redis", "ioredis"]));
  put("apps/api/src/index.ts", 'const lazy = () => import("ioredis");\n');
  put("apps/api/src/main.ts", 'import "@perdure/redis";\n'.repeat(61));
  const problems = problemsOf(root);

  test.each([
    "packages/tasks/src/index.ts: imports node:fs: the domain imports node:crypto alone",
    "packages/tasks: one index.ts, in src/; found packages/tasks/src/index.ts, packages/tasks/src/more/index.ts",
    "packages/tasks/src/helpers.ts: an attic; name it after what is in it",
    "packages/redis: depends on @perdure/runtime, which no arrow allows",
    "packages/redis/src/index.ts: imports @perdure/tasks/src/a.ts, which @perdure/tasks does not export",
    "packages/redis/src/index.ts: imports ../../tasks/src/x.ts, outside its package",
    "packages/redis/lua/move.lua: 82 lines, 80 at most",
    "packages/redis/lua/move.lua: the header does not tell ARGV",
    "packages/redis/lua/move.lua: the header does not tell Reply",
    "packages/redis/lua/prelude/read.lua: the header does not tell --",
    "packages/redis/src/store.ts: imports ./testing/bench.ts, which is for tests alone",
    "packages/runtime/src/index.ts: imports zod, which its package.json does not declare",
    "packages/runtime/src/index.ts: imports vitest, which its package.json does not declare",
    "packages/runtime/src/utils/: an attic; name it after what is in it",
    "packages/runtime/src/utils/clock.ts: 401 lines, 400 at most",
    "apps/api/src/index.ts: imports ioredis: adapters are chosen in main.ts",
    "apps/api/src/main.ts: 61 lines, 60 at most",
  ])("%s", (problem) => {
    expect(problems).toContain(problem);
  });

  test("and nothing else", () => {
    expect(problems).toHaveLength(17);
  });
});
