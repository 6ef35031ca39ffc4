import { definePrompt } from "@perdure/toolkit";
import type { Completer } from "@perdure/toolkit";
import { z } from "zod";
import { RED_PIXEL_PNG } from "./media.ts";

/** Suggests those of a few words that begin like the value. */
const fewWords: Completer = (value) =>
  ["paris", "park", "party", "testValue1", "testValue2"].filter((word) => word.startsWith(value));

/** One message. */
export const simplePrompt = definePrompt({
  name: "test_simple_prompt",
  description: "A prompt without arguments.",
  get: () => "This is a simple prompt for testing.",
});

/** Two arguments, both with completion. */
export const promptWithArguments = definePrompt({
  name: "test_prompt_with_arguments",
  description: "A prompt with two arguments.",
  arguments: [
    { name: "arg1", description: "First test argument", required: true, complete: fewWords },
    { name: "arg2", description: "Second test argument", required: true, complete: fewWords },
  ],
  get: ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
});

/** A resource in a message. */
export const promptWithResource = definePrompt({
  name: "test_prompt_with_embedded_resource",
  description: "A prompt with a resource in it.",
  arguments: [{ name: "resourceUri", description: "URI of the resource to embed", required: true }],
  get: ({ resourceUri }) => [
    {
      role: "user",
      content: {
        type: "resource",
        resource: {
          uri: resourceUri,
          mimeType: "text/plain",
          text: "Embedded resource content for testing.",
        },
      },
    },
    { role: "user", content: { type: "text", text: "Please process the embedded resource above." } },
  ],
});

/** A picture in a message. */
export const promptWithImage = definePrompt({
  name: "test_prompt_with_image",
  description: "A prompt with a picture in it.",
  get: () => [
    { role: "user", content: { type: "image", data: RED_PIXEL_PNG, mimeType: "image/png" } },
    { role: "user", content: { type: "text", text: "Please analyze the image above." } },
  ],
});

/** Asks a person before it gives its message. */
export const promptWithInput = definePrompt({
  name: "test_input_required_result_prompt",
  description: "A prompt that asks for its context.",
  async get(_, call) {
    const answer = await call.elicit("user_context", {
      message: "What context should the prompt use?",
      schema: z.object({ context: z.string() }),
    });
    return `Context: ${answer.action === "accept" ? answer.content.context : "none"}`;
  },
});
