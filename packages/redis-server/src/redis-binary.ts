/** Where a Redis (or Valkey) server comes from: a program on this machine, or an image that Docker runs. */
export type RedisBinary =
  | { readonly kind: "program"; readonly path: string }
  | { readonly kind: "container"; readonly image: string };

const CONTAINER = "docker:";

/** One line for a variable or a log: a path, or `docker:<image>`. `parseRedisBinary` reads it back. */
export function formatRedisBinary(binary: RedisBinary): string {
  return binary.kind === "program" ? binary.path : `${CONTAINER}${binary.image}`;
}

/** Reads what `formatRedisBinary` wrote. It does not look whether the program or the image is there. */
export function parseRedisBinary(text: string): RedisBinary {
  return text.startsWith(CONTAINER)
    ? { kind: "container", image: text.slice(CONTAINER.length) }
    : { kind: "program", path: text };
}
