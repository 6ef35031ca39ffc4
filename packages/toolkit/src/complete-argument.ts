import { z } from "zod";
import { failed } from "./outcome-of.ts";
import { returnedBy } from "./run-call.ts";
import type { Prompt } from "./prompt.ts";
import type { Resource } from "./resource.ts";
import type { Completion } from "./run-host.ts";

/** What a client wants to have completed (MCP `CompleteRequestParams`, `argument` and `context.arguments`). */
export interface ArgumentToComplete {
  readonly name: string;
  readonly value: string;
  readonly others?: Readonly<Record<string, string>>;
}

/** MCP completion §Completion Results. */
const MAX_VALUES = 100;

/**
 * Suggests values for an argument of a prompt, or a variable of a resource template (MCP `completion/complete`). One that
 * has no suggestions gives none; a prompt's argument that does not exist fails with -32602. Never rejects.
 */
export async function completeArgument(
  target: Prompt | Resource,
  { name, value, others }: ArgumentToComplete,
): Promise<Completion> {
  const complete = target.completers.get(name);
  if (!complete) {
    const isUnknown = "arguments" in target && !target.arguments.some((argument) => argument.name === name);
    return isUnknown
      ? failed({ code: -32602, message: `The prompt has no argument ${JSON.stringify(name)}` })
      : completion([]);
  }
  const end = await returnedBy(async () => z.array(z.string()).parse(await complete(value, others ?? {})));
  return "returned" in end
    ? completion(end.returned)
    : failed({ code: -32603, message: "The completion failed" }, end.thrown);
}

function completion(values: readonly string[]): Completion {
  const page = {
    values: values.slice(0, MAX_VALUES),
    total: values.length,
    hasMore: values.length > MAX_VALUES,
  };
  return { kind: "completed", result: { completion: page } };
}
