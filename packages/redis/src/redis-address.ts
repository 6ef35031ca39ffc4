import { RedisSetupError } from "./redis-setup-error.ts";

/** A host and a port of a Redis, a Sentinel or a node. */
export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

/** Who connects. */
export interface RedisLogin {
  readonly username?: string;
  readonly password?: string;
}

/** Where Redis is: one server, the master that Sentinels name, or a Cluster that some of its nodes make known. */
export type RedisAddress =
  | { readonly kind: "one"; readonly url: string }
  | {
      readonly kind: "sentinel";
      readonly hosts: readonly RedisHost[];
      /** The name that the Sentinels watch the master under. */
      readonly master: string;
      readonly database: number;
      readonly login: RedisLogin;
      readonly sentinelLogin: RedisLogin;
      /** To the Sentinels too. */
      readonly isEncrypted: boolean;
    }
  | {
      readonly kind: "cluster";
      readonly hosts: readonly RedisHost[];
      readonly login: RedisLogin;
      readonly isEncrypted: boolean;
    };

/*
 * The URLs of several hosts are no URLs by the letter: a host may be followed by another.
 *
 *     redis+sentinel://user:password@host:26379,host:26379/master/0?sentinelUsername=…&sentinelPassword=…
 *     redis+cluster://user:password@host:6379,host:6379
 */
const SEVERAL =
  /^redis(?<tls>s?)\+(?<kind>sentinel|cluster):\/\/(?:(?<login>[^@/?#]*)@)?(?<hosts>[^@/?#]+)(?:\/(?<path>[^?#]*))?(?:\?(?<query>[^#]*))?$/;
const HOST = /^(?<host>\[[0-9a-fA-F:.]+\]|[^:[\]\s]+)(?::(?<port>\d{1,5}))?$/;
const PORTS = { sentinel: 26_379, cluster: 6379 } as const;

/** Reads a `redis…://` URL. Throws {@link RedisSetupError} `redis_url`, without the URL: it may hold a password. */
export function parseRedisUrl(redisUrl: string): RedisAddress {
  if (!/^rediss?\+/.test(redisUrl)) {
    const url = URL.parse(redisUrl);
    if (url?.protocol === "redis:" || url?.protocol === "rediss:") return { kind: "one", url: redisUrl };
    throw refusal(
      "must begin with redis:// or rediss://, as in redis://127.0.0.1:6379, or with redis+sentinel:// or redis+cluster://",
    );
  }
  const parts = SEVERAL.exec(redisUrl)?.groups;
  if (parts === undefined) throw refusal("is not understood");
  const login = loginOf(parts["login"]);
  const isEncrypted = parts["tls"] === "s";
  const path = parts["path"] ?? "";
  if (parts["kind"] === "cluster") {
    if (path !== "") throw refusal("names a database, and a Cluster has none");
    return { kind: "cluster", hosts: hostsOf(parts["hosts"], PORTS.cluster), login, isEncrypted };
  }
  const [, master, database = "0"] = /^([^/]+)(?:\/(\d{1,5}))?$/.exec(path) ?? [];
  if (master === undefined)
    throw refusal("does not name the master, as in redis+sentinel://host:26379/mymaster/0");
  const query = new URLSearchParams(parts["query"] ?? "");
  return {
    kind: "sentinel",
    hosts: hostsOf(parts["hosts"], PORTS.sentinel),
    master: decoded(master),
    database: Number(database),
    login,
    sentinelLogin: {
      ...present("username", query.get("sentinelUsername")),
      ...present("password", query.get("sentinelPassword")),
    },
    isEncrypted,
  };
}

function hostsOf(text = "", defaultPort: number): readonly RedisHost[] {
  return text.split(",").map((item) => {
    const { host, port } = HOST.exec(item.trim())?.groups ?? {};
    if (host === undefined) throw refusal("has a host that is none, as in host1:26379,host2:26379");
    return { host: host.replace(/^\[|\]$/g, ""), port: port === undefined ? defaultPort : Number(port) };
  });
}

/** A name or a password as URLs write them: with %40 for @. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refusal("has a % that begins no code, as %40 for @");
  }
}

function loginOf(text = ""): RedisLogin {
  const colon = text.indexOf(":");
  const [username, password] = colon < 0 ? [text, ""] : [text.slice(0, colon), text.slice(colon + 1)];
  return {
    ...present("username", decoded(username)),
    ...present("password", decoded(password)),
  };
}

function present<Name extends string>(
  name: Name,
  value: string | null,
): { [name in Name]?: string } | object {
  return value === null || value === "" ? {} : { [name]: value };
}

function refusal(what: string): RedisSetupError {
  return new RedisSetupError("redis_url", `The URL of Redis ${what}`);
}
