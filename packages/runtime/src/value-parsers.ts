import { z } from "zod";

/*
 * Parsers of one variable's text. A problem is the rest of a sentence whose subject is the value:
 * `is not a whole number from 0 to 65535`.
 */

/** Turns the text of a variable into its value. */
export type ValueParser<Value> = z.ZodType<Value, string>;

/** Any text. */
export function text(): ValueParser<string> {
  return z.string();
}

/** A whole number within the bounds, both included. */
export function integer(min: number, max: number): ValueParser<number> {
  return z.string().transform((value, context) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    context.addIssue(`is not a whole number from ${min} to ${max}`);
    return z.NEVER;
  });
}

/** One of the words. */
export function oneOf<const Word extends string>(words: readonly Word[]): ValueParser<Word> {
  return z.string().transform((value, context) => {
    const word = words.find((candidate) => candidate === value);
    if (word !== undefined) return word;
    context.addIssue(`is not one of ${words.join(", ")}`);
    return z.NEVER;
  });
}

/** A URL with one of the schemes (`"https:"`), kept as it was written. */
export function url(schemes: readonly string[]): ValueParser<string> {
  return z.string().transform((value, context) => {
    const parsed = URL.canParse(value) ? new URL(value) : undefined;
    if (parsed && schemes.includes(parsed.protocol) && parsed.hostname !== "") return value;
    context.addIssue(`is not a URL that begins with ${schemes.map((scheme) => `${scheme}//`).join(" or ")}`);
    return z.NEVER;
  });
}

const REDIS_HOSTS = String.raw`(\[[0-9a-fA-F:.]+\]|[^:@/?#,\s[\]]+)(:\d{1,5})?`;
const REDIS_SEVERAL = new RegExp(
  `^rediss?\\+(?:sentinel://([^@/?#]*@)?${REDIS_HOSTS}(,${REDIS_HOSTS})*/[^/?#]+(/\\d{1,5})?(\\?[^#]*)?|cluster://([^@/?#]*@)?${REDIS_HOSTS}(,${REDIS_HOSTS})*)$`,
);

/**
 * One Redis (`redis://host:6379/0`), the master that Sentinels name (`redis+sentinel://host:26379,host:26379/master/0`) or
 * a Cluster (`redis+cluster://host:7000,host:7001`); with `rediss` it is encrypted. Kept as it was written.
 */
export function redisUrl(): ValueParser<string> {
  const one = url(["redis:", "rediss:"]);
  return z.string().refine((value) => REDIS_SEVERAL.test(value) || one.safeParse(value).success, {
    error:
      "is not a URL of Redis: redis://host:6379, redis+sentinel://host:26379,host:26379/master or redis+cluster://host:6379,host:6379",
  });
}

/** Items apart by commas; blanks around them do not count, empty ones neither. At least one. */
export function list<Item>(item: ValueParser<Item>): ValueParser<readonly Item[]> {
  return z.string().transform((value, context) => {
    const parts = value
      .split(",")
      .map((part) => part.trim())
      .filter((part) => part !== "");
    if (parts.length === 0) context.addIssue("is a list without an item");
    const items: Item[] = [];
    for (const part of parts) {
      const parsed = item.safeParse(part);
      if (parsed.success) items.push(parsed.data);
      else context.addIssue(`has an item that ${parsed.error.issues[0]?.message ?? "cannot be read"}`);
    }
    return items;
  });
}

/** An origin as browsers send it: scheme, host and port, no path (RFC 6454 §6.2). */
export function origin(): ValueParser<string> {
  return z.string().refine((value) => URL.canParse(value) && new URL(value).origin === value, {
    error: "is not an origin (scheme, host and port, without a path)",
  });
}

/** A host name or address as in a `Host` header, with or without a port. */
export function hostName(): ValueParser<string> {
  return z.string().regex(/^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?$/, {
    error: "is not a host name, with or without a port",
  });
}

/** Key material: base64 or any text, at least 32 characters. */
export function key(): ValueParser<string> {
  return z.string().min(32, { error: "is shorter than 32 characters" });
}
