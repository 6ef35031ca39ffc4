import type { z } from "zod";

const KINDS: ReadonlyMap<string, string> = new Map([
  ["string", "a string"],
  ["number", "a number"],
  ["int", "an integer"],
  ["boolean", "a boolean"],
  ["array", "a list"],
  ["object", "an object"],
  ["record", "an object"],
]);

/** One line on the first thing that is wrong: the path of the value and what was expected. Never the value itself. */
export function problemOf(root: string, error: z.ZodError): string {
  const issue = error.issues[0];
  return issue ? `${pathText(root, issue.path)}: ${clip(expectation(issue), 200)}` : `${root}: invalid`;
}

/** `params.taskIds[3]`, `params.inputResponses["a key"]`: a property path, each part clipped. */
export function pathText(root: string, path: readonly PropertyKey[]): string {
  let text = root;
  for (const part of path.slice(0, 8)) {
    if (typeof part === "number") text += `[${part}]`;
    else if (/^[A-Za-z_]\w{0,63}$/.test(String(part))) text += `.${String(part)}`;
    else text += `[${quoted(String(part))}]`;
  }
  return text;
}

/** A client's text in a message of ours: in quotes, escaped, at most 64 characters of it. */
export function quoted(text: string): string {
  return JSON.stringify(clip(text, 64));
}

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code !== "invalid_type") return issue.message;
  return `expected ${KINDS.get(issue.expected) ?? issue.expected}`;
}

/** The text's first `max` UTF-16 units, never half a character. */
function clip(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max).toWellFormed()}…`;
}
