import { z } from "zod";
import type { Keys } from "./keys.ts";
import { RedisSetupError } from "./redis-setup-error.ts";
import { parseReply } from "./replies.ts";
import type { Scripts } from "./scripts.ts";

/** The version of keys and fields. A change that an older build cannot read raises it. */
const LAYOUT_VERSION = 1;

const pinReply = z.union([
  z.tuple([z.literal("pinned")]),
  z.tuple([z.literal("differs"), z.string(), z.string()]),
]);

/**
 * Fixes the version of the layout and the number of shards at the first start of a store.
 * Throws {@link RedisSetupError} when they were fixed differently.
 */
export async function pinLayout(scripts: Scripts, keys: Keys): Promise<void> {
  const shards = keys.shards.length;
  const reply = await scripts.run("pin-layout", {
    keys: [keys.layout],
    args: { version: LAYOUT_VERSION, shards },
  });
  const [word, version, pinnedShards] = parseReply("pin-layout", pinReply, reply);
  if (word === "pinned") return;
  throw new RedisSetupError(
    "redis_layout",
    version === String(LAYOUT_VERSION)
      ? `This Redis was first started with ${pinnedShards} shards, not ${shards}: start with ${pinnedShards}, or on an empty Redis`
      : `This Redis holds tasks in layout ${version}, and this build knows ${LAYOUT_VERSION}: start a build that knows it, or on an empty Redis`,
  );
}
