import { Buffer } from "node:buffer";
import { defineResource } from "@perdure/toolkit";
import { RED_PIXEL_PNG } from "./media.ts";

/** Text. */
export const staticText = defineResource({
  uri: "test://static-text",
  name: "Static text",
  description: "A text that never changes.",
  mimeType: "text/plain",
  read: () => "This is the content of the static text resource.",
});

/** Bytes. */
export const staticBinary = defineResource({
  uri: "test://static-binary",
  name: "Static binary",
  description: "A picture that never changes.",
  mimeType: "image/png",
  read: () => Buffer.from(RED_PIXEL_PNG, "base64"),
});

/** One for each id. */
export const templateData = defineResource({
  uriTemplate: "test://template/{id}/data",
  name: "Template data",
  description: "Data for an id.",
  mimeType: "application/json",
  complete: { id: (value) => ["1", "12", "123"].filter((id) => id.startsWith(value)) },
  read: ({ id }) => JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
});
