import { Redis } from "ioredis";
import type { RedisOptions } from "ioredis";
import { RedisSetupError } from "./redis-setup-error.ts";

/*
 * Every connection to Redis is made here and nowhere else. None of them connects before it is told to.
 */

/** How to reach Redis, and who is told of a connection's troubles. */
export interface ConnectionOptions {
  /** `redis://` or `rediss://`, with user, password and database as in the IANA registration of the scheme. */
  readonly redisUrl: string;
  readonly commandTimeoutMs: number;
  readonly onError: (error: Error) => void;
}

/**
 * For commands and scripts, pipelined by themselves. It never queues while it is down, so that what was not sent is known;
 * what was sent is sent again after a reconnect, a few times. A server that falls silent is left.
 */
export function createCommandConnection(options: ConnectionOptions): Redis {
  return create(options, {
    connectionName: "perdure:commands",
    enableOfflineQueue: false,
    enableAutoPipelining: true,
    maxRetriesPerRequest: 4,
    socketTimeout: 2 * options.commandTimeoutMs,
  });
}

/** For pub/sub. It does not subscribe again by itself: the hint source does, and knows when it has. */
export function createHintConnection(options: ConnectionOptions): Redis {
  return create(options, {
    connectionName: "perdure:hints",
    enableOfflineQueue: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    socketTimeout: 2 * options.commandTimeoutMs,
  });
}

/** For BullMQ's workers, which make blocking duplicates of it and wait through any outage. */
export function createConsumerConnection(options: ConnectionOptions): Redis {
  return create(options, {
    connectionName: "perdure:wake-ups",
    lazyConnect: false,
    maxRetriesPerRequest: null,
  });
}

/** The URL without user and password, for messages. */
export function withoutSecrets(redisUrl: string): string {
  const url = parseUrl(redisUrl);
  return `${url.protocol}//${url.host}${url.pathname === "/" ? "" : url.pathname}`;
}

const FIRST_RETRY_MS = 50;
const LAST_RETRY_MS = 1000;

function create({ redisUrl, onError }: ConnectionOptions, role: RedisOptions): Redis {
  parseUrl(redisUrl);
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    connectTimeout: 2000,
    retryStrategy: (times: number) => Math.min(FIRST_RETRY_MS * 2 ** (times - 1), LAST_RETRY_MS),
    ...role,
    replyMapping: "legacy",
  });
  redis.on("error", onError);
  return redis;
}

function parseUrl(redisUrl: string): URL {
  const url = URL.parse(redisUrl);
  if (url === null || (url.protocol !== "redis:" && url.protocol !== "rediss:")) {
    throw new RedisSetupError(
      "redis_url",
      "The URL of Redis must begin with redis:// or rediss://, as in redis://127.0.0.1:6379",
    );
  }
  return url;
}
