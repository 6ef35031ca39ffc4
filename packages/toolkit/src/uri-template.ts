/** A parsed URI template; or what is wrong with it. */
export type UriTemplate =
  | {
      readonly ok: true;
      readonly variables: readonly string[];
      /** The decoded variables of a URI that the template makes; undefined of any other. */
      readonly match: (uri: string) => Readonly<Record<string, string>> | undefined;
    }
  | { readonly ok: false; readonly problem: string };

const EXPRESSION = /\{([^{}]*)\}/;
const VARIABLE = /^[A-Za-z0-9_]+$/;
/** What a level 1 expansion gives: unreserved characters and percent-encoded bytes (RFC 6570 §3.2.2). */
const VALUE = /^(?:[A-Za-z0-9._~-]|%[0-9A-Fa-f]{2})+$/;

/** Parses a template of RFC 6570 level 1: literal text and `{variable}`, at least one. A variable's value is never empty. */
export function parseUriTemplate(template: string): UriTemplate {
  const pieces = template.split(EXPRESSION);
  const variables = pieces.filter((_, index) => index % 2 === 1);
  const literals = pieces.filter((_, index) => index % 2 === 0);
  if (variables.length === 0)
    return { ok: false, problem: "uriTemplate has no {variable}; give uri instead" };
  if (!variables.every((name) => VARIABLE.test(name)) || literals.some((text) => /[{}]/.test(text)))
    return {
      ok: false,
      problem: "uriTemplate may hold {name} alone: letters, digits and _ (RFC 6570 level 1)",
    };
  if (new Set(variables).size < variables.length)
    return { ok: false, problem: "uriTemplate has a variable twice" };
  if (literals.slice(1, -1).includes(""))
    return { ok: false, problem: "uriTemplate has two variables with nothing between them" };

  return {
    ok: true,
    variables,
    match(uri) {
      const values = valuesBetween(literals, uri)?.map(decode);
      const pairs = variables.flatMap((name, index) => {
        const value = values?.[index];
        return value === undefined ? [] : [[name, value] as const];
      });
      return pairs.length < variables.length ? undefined : Object.fromEntries(pairs);
    },
  };
}

/** Each value ends where the next literal first comes: one look at every character, however hostile the URI. */
function valuesBetween(literals: readonly string[], uri: string): readonly string[] | undefined {
  const [prefix = "", ...rest] = literals;
  if (!uri.startsWith(prefix)) return undefined;
  const values: string[] = [];
  let from = prefix.length;
  for (const [index, literal] of rest.entries()) {
    const isLast = index === rest.length - 1;
    const to = isLast ? uri.length - literal.length : uri.indexOf(literal, from + 1);
    if (to <= from || (isLast && !uri.endsWith(literal))) return undefined;
    values.push(uri.slice(from, to));
    from = to + literal.length;
  }
  return values;
}

function decode(value: string): string | undefined {
  if (!VALUE.test(value)) return undefined;
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
