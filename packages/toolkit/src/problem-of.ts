import type { z } from "zod";

const MAX_LENGTH = 500;

/**
 * One line about the first thing that is wrong: its path and what was expected. Values are not in it; names are, as an
 * unknown one is what is wrong, so the line has at most 500 characters.
 */
export function problemOf(error: z.core.$ZodError, root = ""): string {
  const [issue] = error.issues;
  if (!issue) return "invalid";
  const path = issue.path.reduce<string>(
    (path, key) =>
      typeof key === "number" ? `${path}[${key}]` : path === "" ? String(key) : `${path}.${String(key)}`,
    root,
  );
  const line = path === "" ? issue.message : `${path}: ${issue.message}`;
  return line.length <= MAX_LENGTH ? line : `${line.slice(0, MAX_LENGTH - 1).toWellFormed()}…`;
}
