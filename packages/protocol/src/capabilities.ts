import { isJsonObject, ownMember, type JsonObject } from "./json.ts";
import { TASKS_EXTENSION } from "./revision.ts";

/** What `-32021` lists for a client that did not declare the Tasks extension. */
export const TASKS_REQUIRED: JsonObject = { extensions: { [TASKS_EXTENSION]: {} } };

/** True when the request's capabilities declare the Tasks extension (SEP-2663 §Capability Negotiation). */
export function hasTasksExtension(capabilities: JsonObject): boolean {
  return missingCapabilities(TASKS_REQUIRED, capabilities) === undefined;
}

/**
 * The part of `required` that was not declared, in the same shape, or `undefined` when all of it was. Both are in the
 * shape of `ClientCapabilities`. An `elicitation` without modes means its form mode (client/elicitation §Capabilities).
 */
export function missingCapabilities(required: JsonObject, declared: JsonObject): JsonObject | undefined {
  return lacking(required, withImpliedForm(declared));
}

function lacking(required: JsonObject, declared: JsonObject): JsonObject | undefined {
  const missing: [string, JsonObject[string]][] = [];
  for (const [name, wanted] of Object.entries(required)) {
    const given = ownMember(declared, name);
    if (!isJsonObject(given)) missing.push([name, wanted]);
    else if (isJsonObject(wanted)) {
      const inner = lacking(wanted, given);
      if (inner) missing.push([name, inner]);
    }
  }
  return missing.length === 0 ? undefined : Object.fromEntries(missing);
}

function withImpliedForm(declared: JsonObject): JsonObject {
  const elicitation = ownMember(declared, "elicitation");
  if (!isJsonObject(elicitation) || Object.hasOwn(elicitation, "form") || Object.hasOwn(elicitation, "url")) {
    return declared;
  }
  return { ...declared, elicitation: { ...elicitation, form: {} } };
}
