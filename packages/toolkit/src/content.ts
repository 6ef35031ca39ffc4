import { z } from "zod";
import type { JsonObject } from "./json.ts";

/*
 * The content of results and prompts (MCP 2026-07-28 `ContentBlock`). Loose: keys that are not named here pass, so that
 * annotations, icons and `_meta` need no mention.
 */

/** Who a content is for, how much it matters, and when it was last changed. */
export interface ContentAnnotations extends JsonObject {
  readonly audience?: readonly ("user" | "assistant")[];
  readonly priority?: number;
  readonly lastModified?: string;
}

/** Text or base64 data of a resource under its URI. */
export type ResourceContents = {
  readonly uri: string;
  readonly mimeType?: string;
  readonly _meta?: JsonObject;
} & ({ readonly text: string } | { readonly blob: string });

/** One piece of a result or of a prompt's message. `data` and `blob` are base64. */
export type ContentBlock = {
  readonly annotations?: ContentAnnotations;
  readonly _meta?: JsonObject;
} & (
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image"; readonly data: string; readonly mimeType: string }
  | { readonly type: "audio"; readonly data: string; readonly mimeType: string }
  | {
      readonly type: "resource_link";
      readonly uri: string;
      readonly name: string;
      readonly title?: string;
      readonly description?: string;
      readonly mimeType?: string;
    }
  | { readonly type: "resource"; readonly resource: ResourceContents }
);

/** Checks {@link ResourceContents}. */
export const resourceContentsSchema = z.union([
  z.looseObject({ uri: z.string(), mimeType: z.string().optional(), text: z.string() }),
  z.looseObject({ uri: z.string(), mimeType: z.string().optional(), blob: z.string() }),
]);

/** Checks a {@link ContentBlock}. */
export const contentBlockSchema = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), text: z.string() }),
  z.looseObject({ type: z.literal("image"), data: z.string(), mimeType: z.string() }),
  z.looseObject({ type: z.literal("audio"), data: z.string(), mimeType: z.string() }),
  z.looseObject({ type: z.literal("resource_link"), uri: z.string(), name: z.string() }),
  z.looseObject({ type: z.literal("resource"), resource: resourceContentsSchema }),
]);
