import { z } from "zod";
import { contentBlockSchema } from "./content.ts";
import { jsonText } from "./json-text.ts";
import { failed } from "./outcome-of.ts";
import { problemOf } from "./problem-of.ts";
import type { Prompt } from "./prompt.ts";
import { runQuery } from "./run-call.ts";
import type { CallHost, CallOutcome } from "./run-host.ts";

const messages = z.array(z.object({ role: z.enum(["user", "assistant"]), content: contentBlockSchema }));
const returnedSchema = z.union([
  z.string().transform((text) => ({
    messages: [{ role: "user" as const, content: { type: "text" as const, text } }],
  })),
  messages.transform((list) => ({ messages: list })),
  z.strictObject({ description: z.string().optional(), messages }),
]);

/**
 * Makes a prompt's messages (MCP `prompts/get`). `args` are the arguments as the client sent them: a required one that is
 * missing, or a value that is no string, fails with -32602; one that the prompt does not know is left out. Never rejects.
 */
export async function getPrompt(prompt: Prompt, args: unknown, host: CallHost): Promise<CallOutcome> {
  const given = z.record(z.string(), z.unknown()).safeParse(args ?? {});
  if (!given.success) return failed({ code: -32602, message: "Invalid arguments: expected an object" });
  const known = new Map<string, string>();
  for (const { name, required } of prompt.arguments) {
    const value = Object.hasOwn(given.data, name) ? given.data[name] : undefined;
    if (typeof value === "string") known.set(name, value);
    else if (value !== undefined || required)
      return failed({
        code: -32602,
        message: `Invalid arguments: ${name}: ${value === undefined ? "required" : "expected a string"}`,
      });
  }
  return runQuery("The prompt", host, {
    call: (context) => prompt.get(Object.fromEntries(known), context),
    outcomeOf(returned) {
      const made = returnedSchema.safeParse(returned);
      if (!made.success)
        return failed({
          code: -32603,
          message: `The prompt's messages are not valid: ${problemOf(made.error)}`,
        });
      const description = prompt.description;
      const json = jsonText({ description, ...made.data });
      return json.ok
        ? { kind: "completed", result: JSON.parse(json.text) }
        : failed({ code: -32603, message: `The prompt's messages are not JSON: the value${json.problem}` });
    },
  });
}
