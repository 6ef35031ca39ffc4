import { importModule } from "./import-module.ts";
import type { Prompt } from "./prompt.ts";
import type { Resource } from "./resource.ts";
import { KIND } from "./tool.ts";
import type { Tool } from "./tool.ts";

/** All that the loaded modules offer, each map in the order of its keys: the same modules make the same lists everywhere. */
export interface Catalog {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly prompts: ReadonlyMap<string, Prompt>;
  /** By URI. */
  readonly resources: ReadonlyMap<string, Resource>;
  /** By URI template. */
  readonly resourceTemplates: ReadonlyMap<string, Resource>;
}

/** Why a catalog could not be loaded. The message is one line for the operator and names the module. */
export class CatalogError extends Error {
  override readonly name = "CatalogError";
  readonly code = "perdure_catalog";
}

type Offer = Tool | Prompt | Resource;

/**
 * Imports the modules and gathers what `defineTool`, `definePrompt` and `defineResource` made in them: every export of
 * that kind, the default one too, and the members of exported arrays. A path is taken from `baseDir`; a package is looked
 * for from `baseDir` first, then from where this package is. Throws a {@link CatalogError}.
 */
export async function loadCatalog(
  specifiers: readonly string[],
  { baseDir }: { readonly baseDir: string },
): Promise<Catalog> {
  const offers = new Map<string, { readonly offer: Offer; readonly from: string }>();
  for (const from of new Set(specifiers)) {
    for (const offer of await offersIn(from, baseDir)) {
      const label = labelOf(offer);
      const twin = offers.get(label);
      if (twin && twin.offer !== offer)
        throw new CatalogError(
          `Two modules make the ${label}: ${JSON.stringify(twin.from)} and ${JSON.stringify(from)}`,
        );
      offers.set(label, { offer, from });
    }
  }
  const all = [...offers.values()].map(({ offer }) => offer);
  const resources = all.filter((offer) => offer[KIND] === "resource");
  return {
    tools: byKey(all.filter((offer) => offer[KIND] === "tool").map((tool) => [tool.name, tool])),
    prompts: byKey(all.filter((offer) => offer[KIND] === "prompt").map((prompt) => [prompt.name, prompt])),
    resources: byKey(resources.flatMap((one) => (one.uri === undefined ? [] : [[one.uri, one]]))),
    resourceTemplates: byKey(
      resources.flatMap((one) => (one.uriTemplate === undefined ? [] : [[one.uriTemplate, one]])),
    ),
  };
}

async function offersIn(specifier: string, baseDir: string): Promise<readonly Offer[]> {
  let exported: Readonly<Record<string, unknown>>;
  try {
    exported = await importModule(specifier, baseDir);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CatalogError(`The module ${JSON.stringify(specifier)} could not be loaded: ${why}`, { cause });
  }
  const offers = Object.values(exported)
    .flatMap((value): readonly unknown[] => (Array.isArray(value) ? value : [value]))
    .filter(isOffer);
  if (offers.length === 0)
    throw new CatalogError(
      `The module ${JSON.stringify(specifier)} exports nothing that defineTool, definePrompt or defineResource made`,
    );
  return offers;
}

const KINDS: ReadonlySet<unknown> = new Set<Offer[typeof KIND]>(["tool", "prompt", "resource"]);

function isOffer(value: unknown): value is Offer {
  return typeof value === "object" && value !== null && KIND in value && KINDS.has(value[KIND]);
}

function labelOf(offer: Offer): string {
  const key = offer[KIND] === "resource" ? (offer.uri ?? offer.uriTemplate) : offer.name;
  return `${offer[KIND]} ${JSON.stringify(key)}`;
}

function byKey<Value>(entries: readonly (readonly [string, Value])[]): ReadonlyMap<string, Value> {
  return new Map([...entries].sort(([a], [b]) => (a < b ? -1 : 1)));
}
