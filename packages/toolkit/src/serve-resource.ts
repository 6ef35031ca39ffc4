import { z } from "zod";
import { resourceContentsSchema } from "./content.ts";
import type { Catalog } from "./catalog.ts";
import { jsonText } from "./json-text.ts";
import { failed } from "./outcome-of.ts";
import { problemOf } from "./problem-of.ts";
import type { Resource } from "./resource.ts";
import { runQuery } from "./run-call.ts";
import type { CallHost, CallOutcome } from "./run-host.ts";

/** The resource that serves `uri`: one of that very URI, else the first template, by name, that can make it. */
export function findResource(catalog: Catalog, uri: string): Resource | undefined {
  const exact = catalog.resources.get(uri);
  if (exact) return exact;
  return [...catalog.resourceTemplates.values()].find((template) => template.match(uri) !== undefined);
}

/** Reads a resource under the URI that the client asked for (MCP `resources/read`). A URI that is not there fails with -32602. Never rejects. */
export async function readResource(resource: Resource, uri: string, host: CallHost): Promise<CallOutcome> {
  const notFound = failed({ code: -32602, message: "Resource not found", data: { uri } });
  const variables = resource.match(uri);
  if (!variables) return notFound;
  return runQuery("The resource", host, {
    call: (context) => resource.read(variables, context),
    outcomeOf(returned) {
      if (returned === undefined) return notFound;
      const contents = z
        .array(resourceContentsSchema)
        .nonempty()
        .safeParse(contentsOf(returned, uri, resource.mimeType));
      if (!contents.success)
        return failed({
          code: -32603,
          message: `The resource's contents are not valid: ${problemOf(contents.error)}`,
        });
      const json = jsonText({ contents: contents.data });
      return json.ok
        ? { kind: "completed", result: JSON.parse(json.text) }
        : failed({ code: -32603, message: `The resource's contents are not JSON: the value${json.problem}` });
    },
  });
}

function contentsOf(returned: unknown, uri: string, mimeType: string | undefined): unknown {
  const about = { uri, ...(mimeType !== undefined && { mimeType }) };
  if (typeof returned === "string") return [{ ...about, text: returned }];
  if (returned instanceof Uint8Array) return [{ ...about, blob: Buffer.from(returned).toString("base64") }];
  return returned;
}
