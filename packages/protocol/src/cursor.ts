import { wireErrors } from "./wire-error.ts";

/** What is paged: a list of named things, and what the client sent. */
export interface Paging<Item> {
  /** The method whose list it is; a cursor of one list is no cursor of another. */
  readonly method: string;
  readonly items: readonly Item[];
  /** The item's unique name within the list. */
  readonly nameOf: (item: Item) => string;
  readonly pageSize: number;
  /** `params.cursor`; absent for the first page. */
  readonly cursor: string | undefined;
}

/** A page. `nextCursor` is absent on the last one. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor?: string;
}

/**
 * The page that a cursor asks for, in the order of names (server/utilities/pagination). A cursor holds the last name
 * of the page before, so it stays good on every replica and when the list changes in between: nothing is shown twice.
 * Throws `invalidParams` (-32602, in-band) for a cursor that is none of ours.
 */
export function pageOf<Item>({ method, items, nameOf, pageSize, cursor }: Paging<Item>): Page<Item> {
  const after = cursor === undefined ? undefined : openCursor(method, cursor);
  const rest = items
    .map((item) => ({ name: nameOf(item), item }))
    .filter(({ name }) => after === undefined || name > after)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  const page = rest.slice(0, pageSize);
  const last = page.at(-1);
  return {
    items: page.map(({ item }) => item),
    ...(last && rest.length > page.length && { nextCursor: sealCursor(method, last.name) }),
  };
}

function sealCursor(method: string, name: string): string {
  return Buffer.from(JSON.stringify([method, name]), "utf8").toString("base64url");
}

function openCursor(method: string, cursor: string): string {
  const refused = wireErrors.invalidParams("Invalid params: params.cursor: not a cursor of this list");
  let content: unknown;
  try {
    content = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
  } catch {
    throw refused;
  }
  const name: unknown = Array.isArray(content) ? content[1] : undefined;
  if (typeof name !== "string" || sealCursor(method, name) !== cursor) throw refused;
  return name;
}
