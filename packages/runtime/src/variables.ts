import { z } from "zod";
import { hostName, integer, key, list, oneOf, origin, redisUrl, text, url } from "./value-parsers.ts";
import type { ValueParser } from "./value-parsers.ts";

/** What a process does: a replica, a worker, or both and more (`perdure up`, the commands). */
export type Role = "api" | "worker" | "cli";

interface About {
  readonly name: `PERDURE_${string}`;
  /** One line for the README. */
  readonly about: string;
  /** A value that is accepted. */
  readonly example: string;
  /** The text that stands for an unset variable. */
  readonly default?: string;
  /** Never printed or logged. */
  readonly secret?: true;
  readonly roles: readonly Role[];
}

const registry = z.registry<About>();

const SERVING: readonly Role[] = ["api", "cli"];
const WORKING: readonly Role[] = ["worker", "cli"];
const ALL: readonly Role[] = ["api", "worker", "cli"];
const MINUTE = 60_000;
const DAY = 86_400_000;
const MEGABYTE = 1_048_576;

function set<Value>(parser: ValueParser<Value>, about: About & { readonly default: string }) {
  return parser.prefault(about.default).register(registry, about);
}

function unset<Value>(parser: ValueParser<Value>, about: About) {
  return parser.optional().register(registry, about);
}

function unsetList<Item>(item: ValueParser<Item>, about: About) {
  const parser = list(item).optional();
  return parser.transform((items): readonly Item[] => items ?? []).register(registry, about);
}

/** The table: field of the configuration → how its variable is read and what it is for. */
const SHAPE = {
  port: set(integer(0, 65_535), {
    name: "PERDURE_PORT",
    about: "Port of the MCP endpoint `/mcp`; 0 takes a free one",
    example: "3000",
    default: "3000",
    roles: SERVING,
  }),
  host: set(hostName(), {
    name: "PERDURE_HOST",
    about: "Address that the MCP endpoint listens on",
    example: "0.0.0.0",
    default: "127.0.0.1",
    roles: SERVING,
  }),
  opsPort: set(integer(0, 65_535), {
    name: "PERDURE_OPS_PORT",
    about: "Port of `/livez`, `/readyz` and `/metrics`; 0 takes a free one",
    example: "9400",
    default: "9400",
    roles: ALL,
  }),
  opsHost: set(hostName(), {
    name: "PERDURE_OPS_HOST",
    about: "Address that the ops port listens on",
    example: "0.0.0.0",
    default: "127.0.0.1",
    roles: ALL,
  }),
  dataDir: set(text(), {
    name: "PERDURE_DATA",
    about: "Directory where `npm start` keeps its Redis data and development keys",
    example: "/var/lib/perdure",
    default: ".perdure",
    roles: ["cli"],
  }),
  redisUrl: set(redisUrl(), {
    name: "PERDURE_REDIS_URL",
    about:
      "Redis that holds the tasks: `redis://`, `redis+sentinel://host,host/master/0` or `redis+cluster://host,host`, `rediss…` for TLS; a password in it is masked wherever it is shown",
    example: "redis://redis.internal:6379",
    default: "redis://127.0.0.1:6379",
    roles: ALL,
  }),
  shards: set(integer(1, 64), {
    name: "PERDURE_SHARDS",
    about:
      "Shards of the key space, fixed at the first start: 1 on a single Redis, a few for each node of a Cluster",
    example: "8",
    default: "1",
    roles: ALL,
  }),
  waitReplicas: set(integer(0, 5), {
    name: "PERDURE_WAIT_REPLICAS",
    about:
      "Replicas of Redis that must have a creation, an answer or an end before it is acknowledged, so that a failover to one of them keeps it",
    example: "1",
    default: "0",
    roles: ALL,
  }),
  durability: set(oneOf(["durable", "fast", "ephemeral"]), {
    name: "PERDURE_DURABILITY",
    about:
      "What Redis must promise: `durable` (AOF always), `fast` (AOF everysec: a host crash may lose two seconds) or `ephemeral`",
    example: "durable",
    default: "durable",
    roles: ALL,
  }),
  tools: set(list(text()), {
    name: "PERDURE_TOOLS",
    about: "Modules that export the tools, separated by commas",
    example: "@acme/report-tools,./my-tools.js",
    default: "@perdure/demo-tools",
    roles: ALL,
  }),
  auth: set(oneOf(["jwt", "open"]), {
    name: "PERDURE_AUTH",
    about: "`jwt` asks for a bearer token; `open` lets everyone in, for development, on loopback only",
    example: "jwt",
    default: "jwt",
    roles: SERVING,
  }),
  issuer: unset(text(), {
    name: "PERDURE_ISSUER",
    about: "The `iss` that tokens must have",
    example: "https://login.example.com/",
    roles: SERVING,
  }),
  audience: unsetList(text(), {
    name: "PERDURE_AUDIENCE",
    about: "The `aud` that tokens must have: one of these, separated by commas",
    example: "https://mcp.example.com/mcp",
    roles: SERVING,
  }),
  jwks: unset(text(), {
    name: "PERDURE_JWKS",
    about: "URL or file of the issuer's key set",
    example: "https://login.example.com/.well-known/jwks.json",
    roles: SERVING,
  }),
  algorithms: set(
    list(
      oneOf([
        "ES256",
        "ES384",
        "ES512",
        "EdDSA",
        "Ed25519",
        "RS256",
        "RS384",
        "RS512",
        "PS256",
        "PS384",
        "PS512",
      ]),
    ),
    {
      name: "PERDURE_ALGORITHMS",
      about: "Signature algorithms that are accepted (asymmetric ones only), separated by commas",
      example: "ES256,EdDSA",
      default: "ES256,EdDSA,RS256,PS256",
      roles: SERVING,
    },
  ),
  clockToleranceMs: set(integer(0, 5 * MINUTE), {
    name: "PERDURE_CLOCK_TOLERANCE_MS",
    about: "How far the issuer's clock may be off",
    example: "5000",
    default: "5000",
    roles: SERVING,
  }),
  tenantClaim: set(text(), {
    name: "PERDURE_TENANT_CLAIM",
    about: "Claim that names the tenant",
    example: "org_id",
    default: "tenant",
    roles: SERVING,
  }),
  principalClaim: set(text(), {
    name: "PERDURE_PRINCIPAL_CLAIM",
    about: "Claim that names the caller within the tenant",
    example: "sub",
    default: "sub",
    roles: SERVING,
  }),
  requiredScopes: unsetList(text(), {
    name: "PERDURE_SCOPES",
    about: "Scopes that every token must have, separated by commas",
    example: "mcp:tools",
    roles: SERVING,
  }),
  tokenCacheSize: set(integer(0, 1_000_000), {
    name: "PERDURE_TOKEN_CACHE",
    about: "How many verified tokens are remembered",
    example: "10000",
    default: "10000",
    roles: SERVING,
  }),
  allowedHosts: set(list(hostName()), {
    name: "PERDURE_ALLOWED_HOSTS",
    about: "`Host` headers that are served, separated by commas; without a port any port passes",
    example: "mcp.example.com",
    default: "localhost,127.0.0.1,[::1]",
    roles: SERVING,
  }),
  allowedOrigins: unsetList(origin(), {
    name: "PERDURE_ALLOWED_ORIGINS",
    about: "Browser origins that are served besides loopback, separated by commas",
    example: "https://chat.example.com",
    roles: SERVING,
  }),
  publicUrl: unset(url(["https:", "http:"]), {
    name: "PERDURE_PUBLIC_URL",
    about: "The endpoint's URL as clients know it (the resource identifier); else `http://host:port/mcp`",
    example: "https://mcp.example.com/mcp",
    roles: SERVING,
  }),
  secrets: unsetList(key(), {
    name: "PERDURE_SECRET",
    about:
      "Keys for `requestState`, separated by commas: the first seals, all open. Base64 or text, at least 32 characters; random per process when unset",
    example: "a-long-random-text-of-at-least-32-characters",
    secret: true,
    roles: SERVING,
  }),
  leaseMs: set(integer(1000, 10 * MINUTE), {
    name: "PERDURE_LEASE_MS",
    about: "How long a silent worker keeps a task; the same on every worker",
    example: "10000",
    default: "10000",
    roles: WORKING,
  }),
  taskTtlMs: set(integer(1000, 365 * DAY), {
    name: "PERDURE_TASK_TTL_MS",
    about: "How long a task may live, when its tool does not say",
    example: "900000",
    default: "900000",
    roles: SERVING,
  }),
  pollIntervalMs: set(integer(50, 10 * MINUTE), {
    name: "PERDURE_POLL_INTERVAL_MS",
    about: "Time that clients are asked to leave between polls",
    example: "1000",
    default: "1000",
    roles: SERVING,
  }),
  concurrency: set(integer(1, 1000), {
    name: "PERDURE_CONCURRENCY",
    about: "Tasks that a worker runs at a time",
    example: "20",
    default: "20",
    roles: WORKING,
  }),
  shutdownDelayMs: set(integer(0, 10 * MINUTE), {
    name: "PERDURE_SHUTDOWN_DELAY_MS",
    about:
      "How long a replica that is told to stop says so on `/readyz` and serves on, so that load balancers can turn away; milliseconds",
    example: "2000",
    default: "0",
    roles: SERVING,
  }),
  tenantMaxOpen: set(integer(0, 100_000_000), {
    name: "PERDURE_TENANT_MAX_OPEN",
    about:
      "Tasks of one tenant that have not ended; a call that would make one more gets 429. 0 for any number",
    example: "10000",
    default: "0",
    roles: SERVING,
  }),
  tenantMaxRunning: set(integer(0, 1_000_000), {
    name: "PERDURE_TENANT_MAX_RUNNING",
    about: "Tasks of one tenant that workers hold at once; more wait for a slot. 0 for any number",
    example: "50",
    default: "0",
    roles: WORKING,
  }),
  tenantRate: set(integer(0, 1_000_000), {
    name: "PERDURE_TENANT_RATE",
    about:
      "Requests a second of one tenant over all replicas, and as many at once; more get 429. 0 for any number",
    example: "500",
    default: "0",
    roles: SERVING,
  }),
  principalRate: set(integer(0, 1_000_000), {
    name: "PERDURE_PRINCIPAL_RATE",
    about: "The same for one principal of a tenant",
    example: "50",
    default: "0",
    roles: SERVING,
  }),
  drainMs: set(integer(0, 10 * MINUTE), {
    name: "PERDURE_DRAIN_MS",
    about: "How long a process that was told to stop may take",
    example: "10000",
    default: "10000",
    roles: ALL,
  }),
  maxBodyBytes: set(integer(1024, 64 * MEGABYTE), {
    name: "PERDURE_MAX_BODY_BYTES",
    about: "Size limit of a request's body",
    example: "1048576",
    default: "1048576",
    roles: SERVING,
  }),
  maxResultBytes: set(integer(1024, 64 * MEGABYTE), {
    name: "PERDURE_MAX_RESULT_BYTES",
    about: "Size limit of a tool's result",
    example: "1048576",
    default: "1048576",
    roles: ALL,
  }),
  callTimeoutMs: set(integer(100, DAY), {
    name: "PERDURE_CALL_TIMEOUT_MS",
    about: "How long a client may wait for the result of a call that gives no task",
    example: "120000",
    default: "120000",
    roles: SERVING,
  }),
  listenMaxAgeMs: set(integer(1000, DAY), {
    name: "PERDURE_LISTEN_MAX_AGE_MS",
    about: "How long a subscription stream may last before it is ended gracefully",
    example: "3600000",
    default: "3600000",
    roles: SERVING,
  }),
  keepAliveMs: set(integer(100, 10 * MINUTE), {
    name: "PERDURE_KEEP_ALIVE_MS",
    about: "Time between keep-alive comments on an event stream",
    example: "15000",
    default: "15000",
    roles: SERVING,
  }),
  resyncMs: set(integer(100, 15_000), {
    name: "PERDURE_RESYNC_MS",
    about: "Time between a stream's looks at the record itself, in case a hint was lost",
    example: "12000",
    default: "12000",
    roles: SERVING,
  }),
  logLevel: set(oneOf(["trace", "debug", "info", "warn", "error", "fatal", "silent"]), {
    name: "PERDURE_LOG_LEVEL",
    about: "The least level that is logged",
    example: "debug",
    default: "info",
    roles: ALL,
  }),
  audit: set(oneOf(["off", "on"]), {
    name: "PERDURE_AUDIT",
    about: "`on` writes every change of a task to a capped stream in Redis, for fault tests",
    example: "off",
    default: "off",
    roles: ALL,
  }),
  serverName: set(text(), {
    name: "PERDURE_SERVER_NAME",
    about: "Name of the server in `server/discover` and in results",
    example: "acme-reports",
    default: "perdure",
    roles: ALL,
  }),
  instructions: unset(text(), {
    name: "PERDURE_INSTRUCTIONS",
    about: "Text for the model about this server, sent by `server/discover`",
    example: "Reports take minutes: call generate_report as a task.",
    roles: SERVING,
  }),
};

/** Reads all variables at once; its input has one text per field. */
export const CONFIG_SCHEMA = z.object(SHAPE);

/** The configuration of a process, parsed. A list that is unset is empty; times are milliseconds, sizes bytes. */
export type Config = Readonly<z.output<typeof CONFIG_SCHEMA>>;

/** A field of {@link Config}. */
export type ConfigField = keyof typeof SHAPE;

/** One `PERDURE_*` variable. `secret`: never print its value. `default`: absent when unset means "none". */
export interface Variable extends Omit<About, "secret" | "default"> {
  readonly field: ConfigField;
  readonly secret: boolean;
  readonly default?: string;
}

const FIELDS = CONFIG_SCHEMA.keyof().options;

/** Every variable, in the order of the README's table. */
export const VARIABLES: readonly Variable[] = FIELDS.map((field) => {
  const about = registry.get(SHAPE[field]);
  if (!about) throw new Error(`The field ${field} has no variable`);
  const { default: fallback, secret = false, ...rest } = about;
  return { ...rest, field, secret, ...(fallback === undefined ? {} : { default: fallback }) };
});
