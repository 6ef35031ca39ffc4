import { SUPPORTED_VERSIONS, TASKS_EXTENSION } from "@perdure/protocol";
import type { Catalog } from "@perdure/toolkit/host";
import type { ResultText } from "../result-text.ts";
import { cacheHints } from "./cache-hints.ts";
import type { Method } from "./method.ts";

/** What `server/discover` tells. */
export interface DiscoverDeps {
  readonly catalog: Catalog;
  readonly instructions: string | undefined;
  readonly results: ResultText;
}

/**
 * `server/discover`. Prompts and resources are declared even when there are none, because their lists are answered;
 * `completions` only when something completes; no `listChanged`, because a replica's catalog never changes.
 */
export function createDiscover({ catalog, instructions, results }: DiscoverDeps): Method {
  const capabilities = {
    tools: {},
    prompts: {},
    resources: {},
    ...(hasCompletions(catalog) && { completions: {} }),
    logging: {},
    extensions: { [TASKS_EXTENSION]: {} },
  };
  const members = JSON.stringify({
    supportedVersions: SUPPORTED_VERSIONS,
    capabilities,
    ...(instructions !== undefined && { instructions }),
  });
  const result = results.complete(`${members.slice(1, -1)},${cacheHints("public")}`);
  return { serve: () => result };
}

/** True when a prompt or a resource suggests values. */
export function hasCompletions({ prompts, resourceTemplates }: Catalog): boolean {
  return [...prompts.values(), ...resourceTemplates.values()].some(({ completers }) => completers.size > 0);
}
