import type { ContentAnnotations, ResourceContents } from "./content.ts";
import type { Icon } from "./define-tool.ts";
import type { Completer } from "./prompt.ts";
import type { Resource } from "./resource.ts";
import type { CallContext } from "./task-context.ts";
import { KIND } from "./tool.ts";
import { parseUriTemplate } from "./uri-template.ts";

/** The names in the braces of a URI template. */
export type VariablesOf<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? Name | VariablesOf<Rest>
  : never;

/** What `read` may return: text, bytes, or contents under their own URIs. */
export type ResourceReturned = string | Uint8Array | readonly ResourceContents[];

/** What an author says of a resource: `uri` for one, `uriTemplate` (`weather://{city}/today`, RFC 6570 level 1) for many. */
export type ResourceDefinition<Template extends string> = (
  | { readonly uri: string; readonly uriTemplate?: never; readonly complete?: never }
  | {
      readonly uri?: never;
      readonly uriTemplate: Template;
      /** Suggests values, by variable. */
      readonly complete?: { readonly [Name in VariablesOf<Template>]?: Completer };
    }
) & {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** Of a text or bytes that `read` returns. */
  readonly mimeType?: string;
  readonly icons?: readonly Icon[];
  readonly annotations?: ContentAnnotations;
  /**
   * Reads it. It may ask the client for input, and is then run again from the top: it must change nothing.
   * `undefined` says that there is no such resource.
   */
  read(
    variables: { readonly [Name in VariablesOf<Template>]: string },
    call: CallContext,
  ): Promise<ResourceReturned | undefined> | ResourceReturned | undefined;
};

/** A definition with the types of its variables erased. A method, so that a typed definition fits. */
interface Erased {
  read(variables: unknown, call: CallContext): unknown;
}

/** Makes a resource or a template of resources. Throws a `TypeError` that names it and the field when the definition is wrong. */
export function defineResource<const Template extends string = "">(
  definition: ResourceDefinition<Template>,
): Resource {
  const { uri, uriTemplate, name, title, description, mimeType, icons, annotations } = definition;
  const wrong = (problem: string): TypeError =>
    new TypeError(`defineResource(${JSON.stringify(uri ?? uriTemplate)}): ${problem}`);
  if (typeof name !== "string" || name.trim() === "") throw wrong("name must be given");
  if (typeof definition.read !== "function") throw wrong("read must be a function");
  if ((uri === undefined) === (uriTemplate === undefined))
    throw wrong("give uri or uriTemplate, one of them");
  if (uri !== undefined && !URL.canParse(uri)) throw wrong("uri must be an absolute URI, as docs://welcome");
  const template = uriTemplate === undefined ? undefined : parseUriTemplate(uriTemplate);
  if (template && !template.ok) throw wrong(template.problem);
  const completers = Object.entries<Completer | undefined>(definition.complete ?? {});
  for (const [variable] of completers)
    if (!template?.variables.includes(variable))
      throw wrong(`complete.${variable} is no variable of the template`);

  const erased: Erased = definition;
  return {
    [KIND]: "resource",
    ...(uri !== undefined && { uri }),
    ...(uriTemplate !== undefined && { uriTemplate }),
    name,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(mimeType !== undefined && { mimeType }),
    ...(icons && { icons: icons.map((icon) => ({ ...icon })) }),
    ...(annotations && { annotations }),
    completers: new Map(completers.flatMap(([key, complete]) => (complete ? [[key, complete]] : []))),
    match: template ? template.match : (asked) => (asked === uri ? {} : undefined),
    read: (variables, call) => erased.read(variables, call),
  };
}
