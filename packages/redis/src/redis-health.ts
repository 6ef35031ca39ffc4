import type { StoreHealth } from "@perdure/tasks";
import { TaskStoreError } from "@perdure/tasks";
import { Cluster } from "ioredis";
import type { Redis } from "ioredis";
import type { CommandLink } from "./command-link.ts";
import { mastersOf } from "./connections.ts";
import type { Keys } from "./keys.ts";
import { RedisSetupError } from "./redis-setup-error.ts";
import type { RedisSetupErrorCode } from "./redis-setup-error.ts";

/**
 * What an acknowledged write survives: `durable` a loss of power (AOF, each write on disk before its reply), `fast` a killed
 * process (AOF, written once a second: a host's crash may lose the last second or two), `ephemeral` nothing.
 */
export type Durability = "durable" | "fast" | "ephemeral";

/** What is looked at, and what it must promise. */
export interface HealthDeps {
  readonly link: CommandLink;
  readonly keys: Keys;
  readonly durability: Durability;
}

/** The {@link StoreHealth} of Redis, of all nodes of a Cluster and of each shard. `check` never throws. */
export function createRedisHealth(deps: HealthDeps): StoreHealth {
  return {
    async check() {
      try {
        const [problems, unserved] = await Promise.all([inspect(deps), unservedShards(deps)]);
        return [...problems.map(({ sentence }) => sentence), ...unserved];
      } catch (error) {
        return [sentenceOf(error)];
      }
    },
  };
}

/** A Cluster may be there but for one of its nodes: then it is the shards on it that are not served. */
async function unservedShards({ link, keys }: HealthDeps): Promise<readonly string[]> {
  const asked = await Promise.allSettled(
    keys.shards.map(({ due }) =>
      link.call(async (redis) => (redis instanceof Cluster ? redis.exists(due) : 0)),
    ),
  );
  const refused = asked.flatMap((answer, shard) =>
    answer.status === "rejected" ? [{ shard, reason: sentenceOf(answer.reason) }] : [],
  );
  return [...Map.groupBy(refused, ({ reason }) => reason)].map(
    ([reason, shards]) =>
      `${reason} (shards ${shards.map(({ shard }) => shard).join(", ")} of ${keys.shards.length})`,
  );
}

function sentenceOf(error: unknown): string {
  return error instanceof TaskStoreError ? error.message : `Redis gave an error: ${String(error)}`;
}

/** Throws {@link RedisSetupError} on a server that would lose what this class of durability promises to keep. */
export async function assertKeepsTasks(deps: Pick<HealthDeps, "link" | "durability">): Promise<void> {
  for (const { code, sentence } of await inspect(deps)) {
    if (code !== undefined) throw new RedisSetupError(code, sentence);
  }
}

/** `code` is there when the problem is a refusal to start. */
interface Problem {
  readonly sentence: string;
  readonly code?: RedisSetupErrorCode;
}

async function inspect({
  link,
  durability,
}: Pick<HealthDeps, "link" | "durability">): Promise<readonly Problem[]> {
  // A node that cannot be asked is none of these questions: what it does not serve is said by its shards.
  return link.call(async (redis) => {
    if (!(redis instanceof Cluster)) return inspectOne(redis, durability);
    const found = await Promise.all(
      mastersOf(redis).map((node) => inspectNode(node, durability).catch(notAsked)),
    );
    return found.flat();
  });
}

function notAsked(): readonly Problem[] {
  return [];
}

/** A problem of one node of a Cluster says which. */
async function inspectNode(node: Redis, durability: Durability): Promise<readonly Problem[]> {
  const problems = await inspectOne(node, durability);
  const { host, port } = node.options;
  return problems.map((problem) => ({ ...problem, sentence: `Node ${host}:${port}: ${problem.sentence}` }));
}

async function inspectOne(redis: Redis, durability: Durability): Promise<readonly Problem[]> {
  const [info, appendfsync] = await Promise.all([
    redis.info().then(parseInfo),
    redis.config("GET", "appendfsync").then(parseConfigValue, notPermitted),
  ]);
  return [
    ...evictionProblems(info),
    ...durabilityProblems({ durability, appendonly: info.get("aof_enabled") === "1", appendfsync }),
    ...writeProblems(info),
  ];
}

function evictionProblems(info: ReadonlyMap<string, string>): readonly Problem[] {
  const policy = info.get("maxmemory_policy");
  if (policy === "noeviction") return [];
  if (policy === undefined) return [{ sentence: "The eviction policy of Redis cannot be verified" }];
  return [
    {
      code: "redis_eviction",
      sentence: `Redis would throw tasks away when it is full (maxmemory-policy ${policy}); mend it with: redis-cli CONFIG SET maxmemory-policy noeviction`,
    },
  ];
}

interface Persistence {
  readonly durability: Durability;
  readonly appendonly: boolean;
  /** Undefined when the server does not say. */
  readonly appendfsync: string | undefined;
}

function durabilityProblems({ durability, appendonly, appendfsync }: Persistence): readonly Problem[] {
  if (durability === "ephemeral") return [];
  if (!appendonly) {
    return [
      {
        code: "redis_durability",
        sentence: `The durability class ${durability} needs an append-only file, and this Redis has none; mend it with: redis-cli CONFIG SET appendonly yes`,
      },
    ];
  }
  if (durability === "fast" || appendfsync === "always") return [];
  if (appendfsync === undefined) {
    return [
      {
        sentence:
          "The durability class durable needs appendfsync always, which cannot be verified: this Redis does not permit CONFIG GET",
      },
    ];
  }
  return [
    {
      code: "redis_durability",
      sentence: `The durability class durable needs appendfsync always, and this Redis has ${appendfsync}; mend it with: redis-cli CONFIG SET appendfsync always`,
    },
  ];
}

function writeProblems(info: ReadonlyMap<string, string>): readonly Problem[] {
  const problems: Problem[] = [];
  if (info.get("role") === "slave") problems.push({ sentence: "Redis is a replica and takes no writes" });
  if (info.get("aof_enabled") === "1" && info.get("aof_last_write_status") === "err") {
    problems.push({ sentence: "Redis cannot write its append-only file: look at its disk" });
  }
  const used = Number(info.get("used_memory") ?? 0);
  const limit = Number(info.get("maxmemory") ?? 0);
  if (limit > 0 && used >= limit) {
    problems.push({
      sentence: `Redis is full (${used} of ${limit} bytes): it takes no new tasks until some have expired`,
    });
  }
  return problems;
}

function parseInfo(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split("\r\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return fields;
}

function parseConfigValue(reply: unknown): string | undefined {
  return Array.isArray(reply) && typeof reply[1] === "string" ? reply[1] : undefined;
}

/** A managed Redis may not let us ask. That it cannot be reached is said by the other question. */
function notPermitted(): undefined {
  return undefined;
}
