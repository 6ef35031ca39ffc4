import type { ContentBlock } from "./content.ts";
import type { Icon } from "./define-tool.ts";
import type { Completer, Prompt } from "./prompt.ts";
import type { CallContext } from "./task-context.ts";
import { KIND } from "./tool.ts";

/** A message of a prompt. */
export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentBlock;
}

/** What an author says of an argument. `required` is false when left out; `complete` suggests values. */
export interface PromptArgumentDefinition {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
  readonly complete?: Completer;
}

/** The arguments as `get` sees them: strings, those that are not required perhaps missing. */
export type PromptArguments<Args extends readonly PromptArgumentDefinition[]> = {
  readonly [Arg in Args[number] as Arg extends { readonly required: true } ? Arg["name"] : never]: string;
} & {
  readonly [Arg in Args[number] as Arg extends { readonly required: true } ? never : Arg["name"]]?: string;
};

/** What `get` may return: the text of one message of the user, messages, or messages with a description. */
export type PromptReturned =
  | string
  | readonly PromptMessage[]
  | { readonly description?: string; readonly messages: readonly PromptMessage[] };

/** What an author says of a prompt. */
export interface PromptDefinition<Args extends readonly PromptArgumentDefinition[]> {
  /** 1 to 128 of `A-Z a-z 0-9 _ - .`, unique within a server. */
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly icons?: readonly Icon[];
  readonly arguments?: Args;
  /** Makes the messages. It may ask the client for input, and is then run again from the top: it must change nothing. */
  get(args: PromptArguments<Args>, call: CallContext): Promise<PromptReturned> | PromptReturned;
}

const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

/** A definition with the types of its arguments erased. A method, so that a typed definition fits. */
interface Erased {
  get(args: unknown, call: CallContext): unknown;
}

/** Makes a prompt. Throws a `TypeError` that names the prompt and the field when the definition is wrong. */
export function definePrompt<const Args extends readonly PromptArgumentDefinition[]>(
  definition: PromptDefinition<Args>,
): Prompt {
  const { name, title, description, icons } = definition;
  const args: readonly PromptArgumentDefinition[] = definition.arguments ?? [];
  const wrong = (problem: string): TypeError =>
    new TypeError(`definePrompt(${JSON.stringify(name)}): ${problem}`);
  if (typeof name !== "string" || !NAME.test(name)) throw wrong("name must be 1 to 128 of A-Z a-z 0-9 _ - .");
  if (typeof description !== "string" || description.trim() === "")
    throw wrong("description must say what the prompt is for");
  if (typeof definition.get !== "function") throw wrong("get must be a function");
  const names = new Set(args.map((arg) => arg.name));
  if (names.size < args.length) throw wrong("two arguments have the same name");
  if (names.has("")) throw wrong("an argument has no name");

  const erased: Erased = definition;
  return {
    [KIND]: "prompt",
    name,
    ...(title !== undefined && { title }),
    description,
    ...(icons && { icons: icons.map((icon) => ({ ...icon })) }),
    arguments: args.map(({ name, title, description, required }) => ({
      name,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      required: required ?? false,
    })),
    completers: new Map(args.flatMap((arg) => (arg.complete ? [[arg.name, arg.complete]] : []))),
    get: (given, call) => erased.get(given, call),
  };
}
