import { ConfigError } from "./config-error.ts";
import { isLoopback } from "./listen-host.ts";
import { nearestName } from "./nearest-name.ts";
import {
  CONFIG_SCHEMA,
  VARIABLES,
  type Config,
  type ConfigField,
  type Role,
  type Variable,
} from "./variables.ts";

/** The environment of a process: `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** For whom a configuration is parsed. */
export interface ParseOptions {
  /** Adds the checks of that role: a replica in `jwt` mode needs an issuer, an audience and a key set. */
  readonly role?: Role;
}

/**
 * Reads the `PERDURE_*` variables. An empty one counts as unset.
 * Throws a {@link ConfigError} for an unknown name, a bad value, or values that do not go together.
 */
export function parseConfig(env: Environment, { role }: ParseOptions = {}): Config {
  refuseUnknownNames(env);
  const parsed = CONFIG_SCHEMA.safeParse(
    Object.fromEntries(VARIABLES.map(({ field, name }) => [field, textOf(env, name)])),
  );
  if (!parsed.success) throw badValue(parsed.error.issues, env);
  assertConsistent(parsed.data, role);
  return parsed.data;
}

function textOf(env: Environment, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === "" ? undefined : value;
}

function badValue(
  issues: readonly { path: PropertyKey[]; message: string }[],
  env: Environment,
): ConfigError {
  const variable = VARIABLES.find(({ field }) => field === issues[0]?.path[0]);
  const issue = issues[0];
  if (!variable || !issue) return new ConfigError("PERDURE_*", "The configuration cannot be read");
  const value = textOf(env, variable.name) ?? "";
  return problem(variable, `${shown(variable, value)} ${issue.message}${serviceLinkNote(value)}`);
}

function problem(variable: Variable, what: string): ConfigError {
  const { name, example } = variable;
  return new ConfigError(name, `${name}: ${what}; for example ${name}=${example}`);
}

function shown({ field, secret }: Variable, value: string): string {
  if (secret || field === "redisUrl") return "the value";
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value);
}

/** Kubernetes sets `<SERVICE>_PORT=tcp://…` in every pod: a Service called `perdure` collides with our names. */
const SERVICE_LINK = /^(tcp|udp|sctp):\/\//;
const SERVICE_LINK_NAME =
  /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/;

function serviceLinkNote(value: string): string {
  return SERVICE_LINK.test(value)
    ? " (Kubernetes set it for a Service of that name: use enableServiceLinks: false)"
    : "";
}

function refuseUnknownNames(env: Environment): void {
  const known = VARIABLES.map(({ name }) => name);
  const names: ReadonlySet<string> = new Set(known);
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith("PERDURE_") || names.has(name)) continue;
    if (SERVICE_LINK_NAME.test(name) || SERVICE_LINK.test(value ?? "")) continue;
    const nearest = nearestName(name, known);
    const hint = nearest ? `did you mean ${nearest}?` : "`perdure config` lists the names";
    throw new ConfigError(name, `${name}: there is no such variable; ${hint}`);
  }
}

function refuse(field: ConfigField, what: string): never {
  const variable = VARIABLES.find((candidate) => candidate.field === field);
  if (!variable) throw new Error(`No variable sets ${field}`);
  throw problem(variable, what);
}

function assertConsistent(config: Config, role: Role | undefined): void {
  if (config.auth === "open" && !isLoopback(config.host)) {
    refuse(
      "auth",
      `"open" lets everyone in and is refused on PERDURE_HOST=${config.host}, which is not loopback`,
    );
  }
  if (config.auth === "jwt" && role === "api") {
    const wanted = "is needed to check tokens (PERDURE_AUTH=open does without, on loopback only)";
    if (config.issuer === undefined) refuse("issuer", wanted);
    if (config.audience.length === 0) refuse("audience", wanted);
    if (config.jwks === undefined) refuse("jwks", wanted);
  }
  if (role !== "worker" && config.port !== 0 && config.port === config.opsPort) {
    refuse("opsPort", `"${config.opsPort}" is the port of the MCP endpoint too`);
  }
  if (config.pollIntervalMs > config.taskTtlMs) {
    refuse(
      "pollIntervalMs",
      `"${config.pollIntervalMs}" is longer than a task lives (PERDURE_TASK_TTL_MS=${config.taskTtlMs})`,
    );
  }
  if (config.keepAliveMs > config.listenMaxAgeMs) {
    refuse(
      "keepAliveMs",
      `"${config.keepAliveMs}" is longer than a stream lasts (PERDURE_LISTEN_MAX_AGE_MS=${config.listenMaxAgeMs})`,
    );
  }
}
