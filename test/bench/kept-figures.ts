import { readFile, writeFile } from "node:fs/promises";
import type { Figures } from "./figures.ts";
import { presentMarkdown } from "./report/table.ts";

/** What the repository keeps: the last whole run, which the documents show, and the last quick one, which the guard compares with. */
export interface KeptFigures {
  readonly whole?: Figures;
  readonly quick?: Figures;
}

const FILE = new URL("figures.json", import.meta.url);
const DOCUMENTS = ["../../README.md", "../../docs/performance.md"].map(
  (path) => new URL(path, import.meta.url),
);
const TABLE = /(<!-- bench -->\n)[^]*?(<!-- \/bench -->)/;

/** Reads `figures.json`; nothing is kept when there is no such file. */
export async function readKept(): Promise<KeptFigures> {
  try {
    const kept: KeptFigures = JSON.parse(await readFile(FILE, "utf8"));
    return kept;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return {};
    throw error;
  }
}

/**
 * Puts a run into `figures.json` in the place of the last one of its form; figures that it has not measured stay. A whole
 * run also replaces the table between `<!-- bench -->` and `<!-- /bench -->` of the documents that have one.
 */
export async function keep(run: Figures): Promise<void> {
  const kept = await readKept();
  const before = kept[run.form]?.figures ?? [];
  const measured = new Map(run.figures.map((figure) => [figure.name, figure]));
  const figures = [
    ...before.map((figure) => measured.get(figure.name) ?? figure),
    ...run.figures.filter(({ name }) => !before.some((figure) => figure.name === name)),
  ];
  const next = { ...kept, [run.form]: { ...run, figures } };
  await writeFile(FILE, `${JSON.stringify(next, undefined, 2)}\n`);
  if (run.form === "whole") await showInDocuments({ ...run, figures });
}

async function showInDocuments(run: Figures): Promise<void> {
  for (const document of DOCUMENTS) {
    const text = await readFile(document, "utf8");
    const next = text.replace(
      TABLE,
      (_, begin: string, end: string) => `${begin}\n${presentMarkdown(run)}\n\n${end}`,
    );
    if (next !== text) await writeFile(document, next);
  }
}
