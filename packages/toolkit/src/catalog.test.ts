import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { loadCatalog } from "./catalog.ts";

const baseDir = mkdtempSync(join(tmpdir(), "perdure-catalog-"));
afterAll(() => rmSync(baseDir, { recursive: true }));
const put = (path: string, text: string): void => {
  mkdirSync(join(baseDir, dirname(path)), { recursive: true });
  writeFileSync(join(baseDir, path), text);
};
const brand = (kind: string, more: string): string => `{ [Symbol.for("perdure.kind")]: "${kind}", ${more} }`;
const tool = (name: string): string => brand("tool", `name: "${name}"`);
const load = (...specifiers: string[]) => loadCatalog(specifiers, { baseDir });

put(
  "one.mjs",
  `export const b = ${tool("b")}; export const a = ${tool("a")}; export const other = { name: "x" };`,
);
put("list.mjs", `const c = ${tool("c")}; export const named = c; export default [c, ${tool("d")}, 7, null];`);
put(
  "kinds.mjs",
  `export default ${brand("prompt", 'name: "p"')};
   export const r = ${brand("resource", 'uri: "z:r"')}; export const t = ${brand("resource", 'uriTemplate: "z:{t}"')};`,
);
put("again.mjs", `export const again = ${tool("a")};`);
put("nothing.mjs", "export const nothing = 1;");
put("broken.mjs", 'import "nowhere-to-be-found";');
put("throws.mjs", 'throw new Error("no database");');

test("exports, default exports and exported lists are gathered, in the order of names", async () => {
  const catalog = await load("./list.mjs", join(baseDir, "one.mjs"));
  expect([...catalog.tools.keys()]).toEqual(["a", "b", "c", "d"]);
});

test("prompts, resources and templates have maps of their own", async () => {
  const { tools, prompts, resources, resourceTemplates } = await load("./kinds.mjs");
  expect([tools, prompts, resources, resourceTemplates].map((map) => [...map.keys()])).toEqual([
    [],
    ["p"],
    ["z:r"],
    ["z:{t}"],
  ]);
});

test("the same module twice is loaded once", async () => {
  expect((await load("./one.mjs", "./one.mjs")).tools.size).toBe(2);
});

test.each([
  [["./one.mjs", "./again.mjs"], 'Two modules make the tool "a": "./one.mjs" and "./again.mjs"'],
  [
    ["./nothing.mjs"],
    'The module "./nothing.mjs" exports nothing that defineTool, definePrompt or defineResource made',
  ],
  [["./missing.mjs"], 'The module "./missing.mjs" could not be loaded: '],
  [["./broken.mjs"], 'The module "./broken.mjs" could not be loaded: '],
  [["./throws.mjs"], 'The module "./throws.mjs" could not be loaded: no database'],
  [["no-such-package"], 'The module "no-such-package" could not be loaded: '],
])("%j is one clear line", async (specifiers, message) => {
  await expect(load(...specifiers)).rejects.toMatchObject({
    code: "perdure_catalog",
    message: expect.stringContaining(message),
  });
});

test("a package that is installed for nobody near is looked for where this package is", async () => {
  await expect(load("zod")).rejects.toThrow('The module "zod" exports nothing');
});
