import { VARIABLES, type Config } from "./variables.ts";

/**
 * The effective configuration, one `NAME=value` line per variable in the order of {@link VARIABLES}; an unset one has no
 * value. Secrets, and passwords within URLs, are shown as `***`.
 */
export function describeConfig(config: Config): readonly string[] {
  return VARIABLES.map(({ name, field, secret }) => `${name}=${shown(config[field], secret)}`);
}

function shown(value: Config[keyof Config], secret: boolean): string {
  if (value === undefined) return "";
  const items = typeof value === "object" ? value : [value];
  return items.map((item) => (secret ? "***" : maskPasswords(String(item)))).join(",");
}

/** `redis://user:secret@host?password=secret` → `redis://user:***@host?password=***`. Other text stays as it is. */
export function maskPasswords(text: string): string {
  return text
    .replace(/^([a-z][a-z0-9+.-]*:\/\/[^/?#@:]*:)[^/?#]*@/i, "$1***@")
    .replace(/([?&][^=&#]*(?:password|secret|token)[^=&#]*=)[^&#]*/gi, "$1***");
}
