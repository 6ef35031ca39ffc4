import type { JsonObject } from "./json.ts";
import type { Completer } from "./prompt.ts";
import type { CallContext } from "./task-context.ts";
import type { KIND } from "./tool.ts";

/** A resource, or a template of resources, as the server sees it. Made by `defineResource` alone. */
export interface Resource {
  readonly [KIND]: "resource";
  /** The URI of one resource; or `uriTemplate`, never both. */
  readonly uri?: string;
  /** RFC 6570 level 1: `weather://{city}/today`. */
  readonly uriTemplate?: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly icons?: readonly JsonObject[];
  readonly annotations?: JsonObject;
  /** By variable name. */
  readonly completers: ReadonlyMap<string, Completer>;
  /** The variables of a URI that this resource serves, or undefined when it is another's. */
  readonly match: (uri: string) => Readonly<Record<string, string>> | undefined;
  readonly read: (variables: Readonly<Record<string, string>>, call: CallContext) => unknown;
}
