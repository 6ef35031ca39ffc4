import type { IncomingMessage } from "node:http";

const NONE: readonly string[] = [];

/**
 * Every value that came under a name in lower case, in order. Read from what the parser gave: Node's own tables hold all
 * headers of a request, and the one that keeps repeated values apart is made anew for each request that asks for it.
 */
export function headerValues({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  let values: string[] | undefined;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const given = rawHeaders[at] ?? "";
    if (given.length !== name.length || given.toLowerCase() !== name) continue;
    values ??= [];
    values.push(rawHeaders[at + 1] ?? "");
  }
  return values ?? NONE;
}
