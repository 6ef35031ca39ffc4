import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { until } from "@perdure/testkit";
import type { Cluster } from "@perdure/testkit";
import type { Redis } from "ioredis";

/** What is counted. Numbers by name; memory in MB, all processes of a role together. */
export type Sample = ReadonlyMap<string, number>;

const RECORDS = /^\{s\d\d\}:t:/;
/** Key names that are counted apart; what is none of these is `other keys`. */
const PREFIXES: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["idempotency keys", /^\{s\d\d\}:i:/],
  ["rate keys", /^\{s\d\d\}:r:/],
  ["tenant keys", /^\{s\d\d\}:[nw]:/],
  ["wake-up keys", /^\{s\d\d\}:wakeups:/],
];

/** Looks at everything. With a folder for {@link collectable}, each process first gives back what its heap does not need. */
export async function measure(cluster: Cluster, redis: Redis, collectIn?: string): Promise<Sample> {
  const sample = new Map<string, number>();
  for (const [role, processes] of [
    ["replicas", cluster.replicas],
    ["workers", cluster.workers],
  ] as const) {
    const sum = new Map<string, number>();
    const add = (name: string, value: number): void => void sum.set(name, (sum.get(name) ?? 0) + value);
    for (const { pid, opsUrl } of processes) {
      if (collectIn !== undefined) await collectGarbage(collectIn, pid);
      const metrics = await scrape(opsUrl);
      add("heap MB", (metrics.get("nodejs_heap_size_used_bytes") ?? 0) / 1e6);
      add("RSS MB", (metrics.get("process_resident_memory_bytes") ?? 0) / 1e6);
      add("descriptors", (await readdir(`/proc/${pid}/fd`)).length);
      add("timers", metrics.get('nodejs_active_resources{type="Timeout"}') ?? 0);
      add("sockets", metrics.get('nodejs_active_resources{type="TCPSocketWrap"}') ?? 0);
      if (role === "replicas") add("listeners", metrics.get("perdure_listeners") ?? 0);
      else add("tasks running", metrics.get("perdure_tasks_running") ?? 0);
    }
    for (const [name, value] of sum) sample.set(`${role}: ${name}`, value);
  }
  for (const [name, value] of await redisSample(redis)) sample.set(`Redis: ${name}`, value);
  return sample;
}

async function redisSample(redis: Redis): Promise<Sample> {
  const counts = new Map<string, number>(
    ["tasks", "tombstones", ...PREFIXES.map(([name]) => name), "other keys"].map((name) => [name, 0]),
  );
  const add = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  for await (const keys of scanned(redis)) {
    const records = keys.filter((key) => RECORDS.test(key));
    const statuses = await Promise.all(records.map((key) => redis.hexists(key, "expired")));
    for (const isExpired of statuses) add(isExpired === 1 ? "tombstones" : "tasks");
    for (const key of keys.filter((name) => !RECORDS.test(name)))
      add(PREFIXES.find(([, pattern]) => pattern.test(key))?.[0] ?? "other keys");
  }
  counts.set("due", await redis.zcard("{s00}:due"));
  counts.set("memory MB", Number(/used_memory:(\d+)/.exec(await redis.info("memory"))?.[1]) / 1e6);
  counts.set("clients", Number(/connected_clients:(\d+)/.exec(await redis.info("clients"))?.[1]));
  const channels: unknown = await redis.pubsub("CHANNELS");
  counts.set("subscribed channels", Array.isArray(channels) ? channels.length : -1);
  return counts;
}

/** All keys, some at a time. */
export async function* scanned(redis: Redis): AsyncGenerator<readonly string[]> {
  let cursor = "0";
  do {
    const [next, keys] = await redis.scan(cursor, "COUNT", 1000);
    yield keys;
    cursor = next;
  } while (cursor !== "0");
}

/** Samples without the label `role`; a later one of a name wins. */
async function scrape(opsUrl: string): Promise<Sample> {
  const text = await (await fetch(`${opsUrl}/metrics`)).text();
  const samples = [...text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name, labels = "", value]) => {
    const kept = labels.split(",").filter((label) => label !== "" && !label.startsWith("role="));
    return [kept.length === 0 ? `${name}` : `${name}{${kept.join()}}`, Number(value)] as const;
  });
  return new Map(samples);
}

/**
 * For the environment of every process of a soak: a signal makes it collect its garbage, so that a heap is compared by what
 * is held, and not by when V8 last looked. It tells in a file of `dir` how often it has.
 */
export function collectable(dir: string): Readonly<Record<string, string>> {
  const code = `
    import { writeFileSync } from "node:fs";
    let times = 0;
    process.on("SIGUSR2", () => {
      globalThis.gc();
      writeFileSync(process.env.SOAK_DIR + "/" + process.pid, String(++times));
    });`;
  return {
    NODE_OPTIONS: `--expose-gc --import=data:text/javascript,${encodeURIComponent(code)}`,
    SOAK_DIR: dir,
  };
}

async function collectGarbage(dir: string, pid: number): Promise<void> {
  const times = async (): Promise<number> =>
    Number(await readFile(join(dir, String(pid)), "utf8").catch(() => "0"));
  const before = await times();
  process.kill(pid, "SIGUSR2");
  await until(async () => (await times()) > before, { what: `process ${pid} to collect`, timeoutMs: 30_000 });
}
