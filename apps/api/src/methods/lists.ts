import { PARAMS, pageOf, parseParams } from "@perdure/protocol";
import type { Catalog, Prompt, Resource, Tool } from "@perdure/toolkit/host";
import { hasScopes } from "../identity/identity.ts";
import type { Identity } from "../identity/identity.ts";
import type { ResultText } from "../result-text.ts";
import { cacheHints } from "./cache-hints.ts";
import type { Method } from "./method.ts";

/** What the list methods show. */
export interface ListDeps {
  readonly catalog: Catalog;
  readonly results: ResultText;
  readonly pageSize: number;
}

interface Entry {
  readonly name: string;
  readonly text: string;
  readonly scopes: readonly string[];
}

/**
 * `tools/list`, `prompts/list`, `resources/list`, `resources/templates/list`: in the order of names, paged, empty when
 * there is nothing. A caller sees the tools that its scopes let it call; once any tool wants a scope, the list is private.
 */
export function createLists({ catalog, results, pageSize }: ListDeps): ReadonlyMap<string, Method> {
  const list = (method: ListMethod, member: string, entries: readonly Entry[]): [string, Method] => {
    const hints = cacheHints(entries.some(({ scopes }) => scopes.length > 0) ? "private" : "public");
    return [
      method,
      {
        serve({ params, identity }) {
          const { cursor } = parseParams(PARAMS[method], params);
          const items = visibleTo(identity, entries);
          const page = pageOf({ method, items, nameOf: ({ name }) => name, pageSize, cursor });
          const next =
            page.nextCursor === undefined ? "" : `"nextCursor":${JSON.stringify(page.nextCursor)},`;
          return results.complete(
            `"${member}":[${page.items.map(({ text }) => text).join()}],${next}${hints}`,
          );
        },
      },
    ];
  };
  const { tools, prompts, resources, resourceTemplates } = catalog;
  return new Map([
    list("tools/list", "tools", [...tools.values()].map(toolEntry)),
    list("prompts/list", "prompts", [...prompts.values()].map(promptEntry)),
    list("resources/list", "resources", [...resources].map(resourceEntry)),
    list("resources/templates/list", "resourceTemplates", [...resourceTemplates].map(templateEntry)),
  ]);
}

type ListMethod = "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list";

function visibleTo(identity: Identity, entries: readonly Entry[]): readonly Entry[] {
  return entries.filter(({ scopes }) => hasScopes(identity, scopes));
}

function toolEntry(tool: Tool): Entry {
  const { name, title, description, inputSchema, outputSchema, annotations, icons, scopes } = tool;
  const text = JSON.stringify({ name, title, description, icons, inputSchema, outputSchema, annotations });
  return { name, text, scopes };
}

function promptEntry({ name, title, description, icons, arguments: args }: Prompt): Entry {
  return { name, text: JSON.stringify({ name, title, description, icons, arguments: args }), scopes: [] };
}

function resourceEntry([uri, resource]: [string, Resource]): Entry {
  const { name, title, description, mimeType, icons, annotations } = resource;
  const text = JSON.stringify({ uri, name, title, description, mimeType, icons, annotations });
  return { name: uri, text, scopes: [] };
}

function templateEntry([uriTemplate, resource]: [string, Resource]): Entry {
  const { name, title, description, mimeType, icons, annotations } = resource;
  const text = JSON.stringify({ uriTemplate, name, title, description, mimeType, icons, annotations });
  return { name: uriTemplate, text, scopes: [] };
}
