import { defineTool, toolResult } from "@perdure/toolkit";
import { RED_PIXEL_PNG, SILENCE_WAV } from "./media.ts";

/* One tool for each kind of content that a result can have. */

const image = { type: "image", data: RED_PIXEL_PNG, mimeType: "image/png" } as const;

/** Text. */
export const simpleText = defineTool({
  name: "test_simple_text",
  description: "Returns text.",
  run: () => "This is a simple text response for testing.",
});

/** A picture. */
export const imageContent = defineTool({
  name: "test_image_content",
  description: "Returns a picture.",
  run: () => toolResult({ content: [image] }),
});

/** A sound. */
export const audioContent = defineTool({
  name: "test_audio_content",
  description: "Returns a sound.",
  run: () => toolResult({ content: [{ type: "audio", data: SILENCE_WAV, mimeType: "audio/wav" }] }),
});

/** A resource with its text. */
export const embeddedResource = defineTool({
  name: "test_embedded_resource",
  description: "Returns a resource with its text.",
  run: () =>
    toolResult({
      content: [
        {
          type: "resource",
          resource: {
            uri: "test://embedded-resource",
            mimeType: "text/plain",
            text: "This is an embedded resource content.",
          },
        },
      ],
    }),
});

/** Text, a picture and a resource in one result. */
export const multipleContentTypes = defineTool({
  name: "test_multiple_content_types",
  description: "Returns text, a picture and a resource.",
  run: () =>
    toolResult({
      content: [
        { type: "text", text: "Multiple content types test:" },
        image,
        {
          type: "resource",
          resource: {
            uri: "test://mixed-content-resource",
            mimeType: "application/json",
            text: JSON.stringify({ test: "data", value: 123 }),
          },
        },
      ],
    }),
});
