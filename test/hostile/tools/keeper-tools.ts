import { ToolError, defineTool } from "@perdure/toolkit";
import { z } from "zod";

/* Tools whose tasks hold a secret in every place where a task can hold one, and stay as they are for an hour. */

const secret = z.object({ secret: z.string() });

/** Ends with the secret in its result. */
export const keepResult = defineTool({
  name: "keep_result",
  description: "Gives the secret back.",
  input: secret,
  output: secret,
  taskSupport: "required",
  ttl: "1h",
  run: ({ secret }) => ({ secret: `result ${secret}` }),
});

/** Ends with the secret in its error. */
export const keepError = defineTool({
  name: "keep_error",
  description: "Fails with the secret.",
  input: secret,
  taskSupport: "required",
  ttl: "1h",
  run({ secret }) {
    throw new ToolError(`error ${secret}`);
  },
});

/** Asks with the secret in its question, and waits. */
export const keepQuestion = defineTool({
  name: "keep_question",
  description: "Asks with the secret.",
  input: secret,
  taskSupport: "required",
  ttl: "1h",
  async run({ secret }, task) {
    const answer = await task.elicit("name", {
      message: `question ${secret}`,
      schema: z.object({ name: z.string() }),
    });
    return answer.action;
  },
});

/** Sleeps with the secret in its status message. */
export const keepMessage = defineTool({
  name: "keep_message",
  description: "Shows the secret and sleeps.",
  input: secret,
  taskSupport: "required",
  ttl: "1h",
  async run({ secret }, task) {
    await task.progress(`message ${secret}`);
    await task.sleep("long", "50m");
    return "slept";
  },
});

/** Takes a short while in the call itself. */
export const briefCall = defineTool({
  name: "brief_call",
  description: "Waits 300 ms in the replica.",
  input: z.object({}),
  async run(_, call) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, 300);
    call.signal.addEventListener("abort", () => resolve());
    await promise;
    clearTimeout(timer);
    return "waited";
  },
});
