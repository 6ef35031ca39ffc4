import { PARAMS, parseParams, wireErrors } from "@perdure/protocol";
import type { JsonObject } from "@perdure/protocol";
import { completeArgument, findResource, getPrompt, readResource } from "@perdure/toolkit/host";
import type { CallHost, CallOutcome, Catalog } from "@perdure/toolkit/host";
import { noteRequests, takeAnswers } from "../calls/call-journal.ts";
import type { CallScopes } from "../calls/call-scope.ts";
import type { Continuations } from "../calls/continuation.ts";
import { inputRequired, settled } from "../calls/outcome-text.ts";
import type { OutcomeDeps } from "../calls/outcome-text.ts";
import { logOf } from "../calls/said-meanwhile.ts";
import { cacheHints } from "./cache-hints.ts";
import { hasCompletions } from "./discover.ts";
import type { Call, Method } from "./method.ts";

/** What fetching a prompt or a resource stands on. */
export interface FetchDeps extends OutcomeDeps {
  readonly catalog: Catalog;
  readonly continuations: Continuations;
  readonly scopes: CallScopes;
}

/**
 * `prompts/get`, `resources/read`, and `completion/complete` if anything completes. The first two may ask the client for
 * input (MCP mrtr §Supported Requests). A resource may depend on who reads it, so nobody may keep it.
 */
export function createFetching(deps: FetchDeps): ReadonlyMap<string, Method> {
  const { catalog, results } = deps;
  const methods = new Map<string, Method>([
    [
      "prompts/get",
      {
        async serve(call) {
          const params = parseParams(PARAMS["prompts/get"], call.params);
          const prompt = catalog.prompts.get(params.name);
          if (!prompt) throw wireErrors.invalidParams(`Unknown prompt: ${params.name.slice(0, 128)}`);
          const subject = { name: prompt.name, arguments: params.arguments ?? {} };
          const asked = { call, subject, params, logger: prompt.name };
          return fetchOnce(deps, asked, (host) => getPrompt(prompt, params.arguments, host));
        },
      },
    ],
    [
      "resources/read",
      {
        async serve(call) {
          const params = parseParams(PARAMS["resources/read"], call.params);
          const { uri } = params;
          const resource = findResource(catalog, uri);
          if (!resource) throw wireErrors.invalidParams("Resource not found", { uri });
          const asked = { call, subject: { uri }, params, logger: resource.name, hints: UNKEPT };
          return fetchOnce(deps, asked, (host) => readResource(resource, uri, host));
        },
      },
    ],
  ]);
  if (!hasCompletions(catalog)) return methods;
  return methods.set("completion/complete", {
    async serve(call) {
      const { ref, argument, context } = parseParams(PARAMS["completion/complete"], call.params);
      const target =
        ref.type === "ref/prompt"
          ? catalog.prompts.get(ref.name)
          : (catalog.resourceTemplates.get(ref.uri) ?? findResource(catalog, ref.uri));
      if (!target) throw wireErrors.invalidParams("Invalid params: params.ref: names nothing that is here");
      const others = context?.arguments;
      const completion = await completeArgument(target, { ...argument, ...(others && { others }) });
      if (completion.kind === "failed") throw wireErrors.application(completion.error);
      return results.completeObject(completion.result);
    },
  });
}

const UNKEPT: JsonObject = JSON.parse(`{${cacheHints("private", 0)}}`);

interface Asked {
  readonly call: Call;
  readonly subject: JsonObject;
  readonly params: {
    readonly requestState?: string | undefined;
    readonly inputResponses?: JsonObject | undefined;
  };
  readonly logger: string;
  /** Members that a complete result carries beside its own. */
  readonly hints?: JsonObject;
}

async function fetchOnce(
  deps: FetchDeps,
  { call, subject, params, logger, hints }: Asked,
  fetch: (host: CallHost) => Promise<CallOutcome>,
): Promise<string> {
  const continuation = deps.continuations.open(call, subject, params.requestState);
  if (continuation.stage !== "prepare") throw wireErrors.invalidParams("Invalid params: params.requestState");
  const { journal } = continuation;
  takeAnswers(journal, params.inputResponses);
  const scope = deps.scopes.open(call);
  try {
    const { tenant, principal, scopes } = call.identity;
    const outcome = await fetch({
      caller: { tenant, principal, scopes },
      signal: scope.signal,
      capabilities: call.meta.capabilities,
      journal,
      log: logOf(call, logger),
    });
    if (outcome.kind === "waiting") {
      noteRequests(journal, outcome.requests);
      return inputRequired(deps, outcome.requests, deps.continuations.seal(call, subject, continuation));
    }
    const ended =
      outcome.kind === "completed" ? { ...outcome, result: { ...outcome.result, ...hints } } : outcome;
    return settled(deps, { scope }, ended);
  } finally {
    scope.close();
  }
}
