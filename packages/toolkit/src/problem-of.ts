import type { z } from "zod";

/** One line about the first thing that is wrong: its path and what was expected. Values are not in it. */
export function problemOf(error: z.core.$ZodError, root = ""): string {
  const [issue] = error.issues;
  if (!issue) return "invalid";
  const path = issue.path.reduce<string>(
    (path, key) =>
      typeof key === "number" ? `${path}[${key}]` : path === "" ? String(key) : `${path}.${String(key)}`,
    root,
  );
  return path === "" ? issue.message : `${path}: ${issue.message}`;
}
