import { Cluster, Redis } from "ioredis";
import type { RedisOptions } from "ioredis";
import { parseRedisUrl } from "./redis-address.ts";
import type { RedisAddress } from "./redis-address.ts";

/*
 * Every connection to Redis is made here and nowhere else. None of them connects before it is told to.
 */

/** A connection to one Redis, the master that Sentinels name or every node of a Cluster; all take the same commands. */
export type RedisClient = Redis | Cluster;

/** How to reach Redis, and who is told of a connection's troubles. */
export interface ConnectionOptions {
  /** As {@link parseRedisUrl} reads it. */
  readonly redisUrl: string;
  readonly commandTimeoutMs: number;
  readonly onError: (error: Error) => void;
}

/**
 * For commands and scripts, also those of BullMQ's queues. It never queues while it is down, so that what was not sent is known;
 * what was sent is sent again after a reconnect, a few times. A server that falls silent is left.
 */
export function createCommandConnection(options: ConnectionOptions): RedisClient {
  return create(options, {
    connectionName: "perdure:commands",
    enableOfflineQueue: false,
    maxRetriesPerRequest: 4,
    socketTimeout: 2 * options.commandTimeoutMs,
  });
}

/**
 * For pub/sub. It does not subscribe again by itself: the hint source does, and knows when it has. Any node of a Cluster
 * hears what is published at any other, so one connection does, each time to the next of the nodes.
 */
export function createHintConnection(options: ConnectionOptions): Redis {
  const address = parseRedisUrl(options.redisUrl);
  const role = {
    connectionName: "perdure:hints",
    enableOfflineQueue: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    socketTimeout: 2 * options.commandTimeoutMs,
  };
  return address.kind === "cluster"
    ? createToAnyNode(address, options, role)
    : createToOne(address, options, role);
}

/** For BullMQ's workers, which make blocking duplicates of it and wait through any outage. */
export function createConsumerConnection(options: ConnectionOptions): RedisClient {
  return create(options, {
    connectionName: "perdure:wake-ups",
    lazyConnect: false,
    maxRetriesPerRequest: null,
  });
}

/** The servers that hold what is written: the one, or the masters of a Cluster as far as they are known and reached. */
export function mastersOf(redis: RedisClient): readonly Redis[] {
  return redis instanceof Cluster ? redis.nodes("master") : [redis];
}

const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 1000;
const retryDelay = (times: number): number => Math.min(FIRST_RETRY_MS * 2 ** (times - 1), LAST_RETRY_MS);

const COMMON = { lazyConnect: true, connectTimeout: 2000, replyMapping: "legacy" } as const;

/** Times that a command is tried at the nodes of a Cluster, and how far apart: together less than a step may take. */
const CLUSTER_TRIES = 5;
const CLUSTER_RETRY_MS = 200;
/** How often a Cluster is asked which node has what, beside the times when one says so. */
const CLUSTER_LOOK_MS = 5000;

type Several = Extract<RedisAddress, { kind: "cluster" }>;

function create(options: ConnectionOptions, role: RedisOptions): RedisClient {
  const address = parseRedisUrl(options.redisUrl);
  return address.kind === "cluster"
    ? createToCluster(address, options, role)
    : createToOne(address, options, role);
}

function createToOne(
  address: Exclude<RedisAddress, Several>,
  { onError }: ConnectionOptions,
  role: RedisOptions,
): Redis {
  const common = { ...COMMON, retryStrategy: retryDelay, ...role, replyMapping: "legacy" } as const;
  const redis =
    address.kind === "one"
      ? new Redis(address.url, common)
      : new Redis({ ...common, ...throughSentinels(address), replyMapping: "legacy" });
  redis.on("error", onError);
  return redis;
}

/**
 * The Sentinels tell who is master at each connect. They cut the connections to one that they make a replica, and it is
 * left when it takes no writes. The library's own listening for a change is not used: when the change comes while it
 * connects, it ends the connection for good.
 */
function throughSentinels(address: Extract<RedisAddress, { kind: "sentinel" }>): RedisOptions {
  const { hosts, master, database, login, sentinelLogin, isEncrypted } = address;
  return {
    sentinels: [...hosts],
    name: master,
    db: database,
    ...login,
    ...(sentinelLogin.username !== undefined && { sentinelUsername: sentinelLogin.username }),
    ...(sentinelLogin.password !== undefined && { sentinelPassword: sentinelLogin.password }),
    ...(isEncrypted && { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true }),
    sentinelRetryStrategy: retryDelay,
    sentinelReconnectStrategy: retryDelay,
    sentinelCommandTimeout: 1000,
    reconnectOnError: (error) => error.message.startsWith("READONLY"),
  };
}

function createToCluster(
  { hosts, login, isEncrypted }: Several,
  { onError }: ConnectionOptions,
  role: RedisOptions,
): Cluster {
  const { lazyConnect = true, retryStrategy: _, enableOfflineQueue: __, ...node } = role;
  const cluster = new Cluster([...hosts], {
    lazyConnect,
    // A node that is being connected to may queue; the link sends nothing while the Cluster as a whole is not there.
    enableOfflineQueue: true,
    clusterRetryStrategy: retryDelay,
    maxRedirections: CLUSTER_TRIES,
    // Each of these has the Cluster asked again which node has what.
    retryDelayOnFailover: CLUSTER_RETRY_MS,
    retryDelayOnClusterDown: CLUSTER_RETRY_MS,
    slotsRefreshInterval: CLUSTER_LOOK_MS,
    // Names stay names: certificates are made out to them.
    dnsLookup: (address, found) => found(null, address),
    redisOptions: { ...COMMON, ...node, ...login, ...(isEncrypted && { tls: {} }), replyMapping: "legacy" },
  });
  cluster.on("error", onError);
  cluster.on("node error", onError);
  return cluster;
}

function createToAnyNode(
  { hosts, login, isEncrypted }: Several,
  { onError }: ConnectionOptions,
  role: RedisOptions,
): Redis {
  let at = Math.floor(Math.random() * hosts.length);
  const redis = new Redis({
    ...COMMON,
    ...role,
    ...hosts[at],
    ...login,
    ...(isEncrypted && { tls: {} }),
    retryStrategy(times) {
      at = (at + 1) % hosts.length;
      Object.assign(redis.options, hosts[at]);
      return retryDelay(times);
    },
    replyMapping: "legacy",
  });
  redis.on("error", onError);
  return redis;
}
