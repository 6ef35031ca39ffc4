import type { JsonObject } from "./json.ts";
import type { CallContext } from "./task-context.ts";
import type { KIND } from "./tool.ts";

/** What a client may fill in for a prompt (MCP `PromptArgument`). Values are strings. */
export interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required: boolean;
}

/** Suggests values that begin like `value`, best first. `others` are the arguments that are filled in already. */
export type Completer = (
  value: string,
  others: Readonly<Record<string, string>>,
) => readonly string[] | Promise<readonly string[]>;

/** A prompt as the server sees it. Made by `definePrompt` alone. */
export interface Prompt {
  readonly [KIND]: "prompt";
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly icons?: readonly JsonObject[];
  readonly arguments: readonly PromptArgument[];
  /** By argument name. */
  readonly completers: ReadonlyMap<string, Completer>;
  readonly get: (args: Readonly<Record<string, string>>, call: CallContext) => unknown;
}
