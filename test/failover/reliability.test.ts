import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FAULT_KINDS } from "./fault-kinds.ts";
import { MUTATIONS } from "./mutations.ts";
import { ROOT } from "./source-tree.ts";

/* docs/reliability.md says which test shows what; it must not say more than there is. */

const textOf = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const document = textOf("docs/reliability.md");
const rows = new Map(
  [...document.matchAll(/^\| (I\d+) \|(.*)$/gm)].map(([, id = "", row = ""]) => [id, row]),
);

test("every promise has its row, and every test that a row names has the promise in its title", () => {
  expect([...rows.keys()]).toEqual(Array.from({ length: 18 }, (_, index) => `I${index + 1}`));
  const silent = [...rows].flatMap(([id, row]) =>
    [...row.matchAll(/`([\w/.-]+\.test\.ts)`/g)]
      .map(([, path = ""]) => path)
      .filter(
        (path) => !new RegExp(`\\b${id}\\b`).test(textOf(path)) && !row.includes(`\`${path}\` (the matrix)`),
      )
      .map((path) => `${id}: ${path}`),
  );
  expect(silent).toEqual([]);
});

test("every control is in the table with what it breaks, and in the row of that promise", () => {
  for (const { name, breaks } of MUTATIONS) {
    expect(document).toMatch(
      new RegExp(`^\\| \`${name}\` \\|.*\\| ${breaks.join(", ") || "nothing"} \\|$`, "m"),
    );
    for (const promise of breaks) expect(rows.get(promise)).toContain(`**${name}**`);
  }
  const named = [...document.matchAll(/\*\*([a-z]+(?:-[a-z]+)+)\*\*/g)].map(([, name]) => name);
  expect(named.filter((name) => !MUTATIONS.some((mutation) => mutation.name === name))).toEqual([]);
});

test("every text that a control replaces is there once", () => {
  const missing = MUTATIONS.flatMap(({ name, replacements }) =>
    replacements
      .filter(({ file, text }) => textOf(file).split(text).length !== 2)
      .map(({ file }) => `${name}: ${file}`),
  );
  expect(missing).toEqual([]);
});

test("every fault is in the table", () => {
  expect(FAULT_KINDS.filter((kind) => !document.includes(`\`${kind}\``))).toEqual([]);
});
