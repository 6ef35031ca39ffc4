import { z } from "zod";

/** A reply of a script, or a record, that is not what this version writes: a fault of ours, or a foreign hand. */
export class RedisReplyError extends Error {
  override readonly name = "RedisReplyError";
  readonly code = "redis_reply";
  readonly script: string;

  constructor(script: string, options: ErrorOptions) {
    super(`Redis gave ${script} something else than it was to give`, options);
    this.script = script;
  }
}

/** Parses what a script replied. Throws {@link RedisReplyError}. */
export function parseReply<Schema extends z.ZodType>(
  script: string,
  schema: Schema,
  reply: unknown,
): z.output<Schema> {
  const parsed = schema.safeParse(reply);
  if (!parsed.success) throw new RedisReplyError(script, { cause: parsed.error });
  return parsed.data;
}

/** A reply of one word and nothing else, as a verdict. */
export function verdict<const Word extends string>(word: Word) {
  return z.tuple([z.literal(word)]).transform(() => ({ verdict: word }));
}

/** A number in a reply: a counter, or milliseconds since the epoch. */
export const whole = z.int().nonnegative();

/** `{"fenced", reason}`. */
export const fenced = z
  .tuple([z.literal("fenced"), z.enum(["cancelled", "expired", "settled", "taken", "gone"])])
  .transform(([verdict, reason]) => ({ verdict, reason }));

/** `{"unknown"}` or `{"expired"}`. */
export const absent = z.union([verdict("unknown"), verdict("expired")]);

/** What a fenced write replies. */
export const written = z.union([verdict("done"), fenced]);
