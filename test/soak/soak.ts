import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startCluster, until } from "@perdure/testkit";
import type { Cluster } from "@perdure/testkit";
import { Redis } from "ioredis";
import { load } from "./load.ts";
import type { LoadReport, SoakClients } from "./load.ts";
import { collectable, measure, scanned } from "./measure.ts";
import type { Sample } from "./measure.ts";

/** How long and how much; `say` is told of each measurement. */
export interface SoakOptions {
  readonly durationMs: number;
  /** Scenarios begun a second. */
  readonly rate: number;
  readonly everyMs?: number;
  readonly say?: (line: string) => void;
}

/** What was measured. */
export interface SoakReport {
  readonly rows: readonly { readonly when: string; readonly sample: Sample }[];
  readonly load: LoadReport;
  readonly limits: readonly Limit[];
  /** What is not back, one line each. */
  readonly problems: readonly string[];
}

/** What a number may be at the end, and why it may be more than at the start. */
export interface Limit {
  readonly name: string;
  /** The row to compare with: `idle` before any request, `warm` after the first seconds of load, `half` of the load. */
  readonly from: "idle" | "warm" | "half";
  readonly more: number;
  readonly why: string;
}

const LIMITS: readonly Limit[] = [
  {
    name: "replicas: heap MB",
    from: "warm",
    more: 8,
    why: "verified tokens, compiled code and V8's slack, 4 MB a replica",
  },
  { name: "workers: heap MB", from: "warm", more: 4, why: "compiled code and V8's slack" },
  {
    name: "replicas: RSS MB",
    from: "half",
    more: 80,
    why: "V8 takes pages until it has what the load needs, and keeps them: 40 MB a replica",
  },
  { name: "workers: RSS MB", from: "half", more: 40, why: "the same" },
  {
    name: "replicas: descriptors",
    from: "idle",
    more: 4,
    why: "connections that open with the first use, two a replica",
  },
  { name: "workers: descriptors", from: "idle", more: 2, why: "the same" },
  { name: "replicas: sockets", from: "idle", more: 4, why: "the same" },
  { name: "workers: sockets", from: "idle", more: 2, why: "the same" },
  { name: "replicas: timers", from: "idle", more: 4, why: "pings of such connections" },
  { name: "workers: timers", from: "idle", more: 4, why: "the same" },
  { name: "replicas: listeners", from: "idle", more: 0, why: "" },
  { name: "workers: tasks running", from: "idle", more: 0, why: "" },
  { name: "Redis: tasks", from: "idle", more: 0, why: "" },
  { name: "Redis: due", from: "idle", more: 0, why: "" },
  { name: "Redis: idempotency keys", from: "idle", more: 0, why: "" },
  { name: "Redis: rate keys", from: "idle", more: 0, why: "" },
  { name: "Redis: tenant keys", from: "idle", more: 0, why: "" },
  { name: "Redis: tombstones", from: "idle", more: 0, why: "" },
  {
    name: "Redis: wake-up keys",
    from: "idle",
    more: 4,
    why: "the queue's own: its id, its events, its marker",
  },
  {
    name: "Redis: other keys",
    from: "idle",
    more: 3,
    why: "counters of the shard, whatever the number of tasks",
  },
  { name: "Redis: subscribed channels", from: "idle", more: 0, why: "" },
  { name: "Redis: clients", from: "idle", more: 4, why: "connections that open with the first use" },
  { name: "Redis: memory MB", from: "idle", more: 3, why: "cached scripts, and buffers of the connections" },
];

/** Of what does not expire by its tool: short, and long enough for a slow machine. */
const TTL_MS = 30_000;
const TOMBSTONE_MS = 3_600_000;
/** What `PTTL` says of a key without an end. */
const FOR_EVER = -1;
/** An ended task is kept for 60 s, and a client's idle connections for 65 s, so nothing is back before that. */
const DRAIN_MS = 120_000;
const WARM_MS = 2000;
const TENANTS = ["acme", "globex", "initech"];

/** Loads a cluster of its own, waits until what must go has gone, and compares. */
export async function soak({
  durationMs,
  rate,
  everyMs = 10_000,
  say = () => {},
}: SoakOptions): Promise<SoakReport> {
  const dir = await mkdtemp(join(tmpdir(), "perdure-soak-"));
  await using cluster = await startCluster({
    replicas: 2,
    workers: 1,
    env: {
      ...collectable(dir),
      PERDURE_TOOLS: fileURLToPath(new URL("tools/soak-tools.ts", import.meta.url)),
      PERDURE_TASK_TTL_MS: String(TTL_MS),
      PERDURE_POLL_INTERVAL_MS: "100",
      PERDURE_LOG_LEVEL: "warn",
    },
  });
  const redis = new Redis(cluster.redis.url);
  const rows: { readonly when: string; readonly sample: Sample }[] = [];
  const look = async (when: string, collect = false): Promise<Sample> => {
    const sample = await measure(cluster, redis, collect ? dir : undefined);
    rows.push({ when, sample });
    say(presentRow(when, sample));
    return sample;
  };
  try {
    const clients = await clientsOf(cluster, durationMs);
    const idle = await look("idle", true);
    const warmUp = await load({ clients, durationMs: WARM_MS, rate, name: "warm" });
    const warm = await look("warm", true);
    const looks = setInterval(() => {
      look(`${Math.round((performance.now() - startedMs) / 1000)} s`).catch((error: unknown) =>
        say(String(error)),
      );
    }, everyMs);
    const startedMs = performance.now();
    const [done, half] = await Promise.all([
      load({ clients, durationMs, rate, name: "soak" }),
      delay(durationMs / 2).then(() => look("half")),
    ]);
    clearInterval(looks);
    await look("load ended");
    const problems = [...warmUp.problems, ...done.problems];
    await until(() => drained(cluster, redis, idle), {
      what: "tasks, streams and idle connections to go",
      timeoutMs: DRAIN_MS,
    }).catch((error: unknown) => void problems.push(String(error)));
    await look("drained");
    problems.push(...(await forgetTombstones(redis)));
    const end = await look("end", true);
    problems.push(...LIMITS.flatMap((limit) => excess(limit, { idle, warm, half }, end)));
    return { rows, load: done, limits: LIMITS, problems };
  } finally {
    redis.disconnect();
    await rm(dir, { recursive: true, force: true });
  }
}

async function clientsOf(cluster: Cluster, durationMs: number): Promise<SoakClients> {
  const expiresInSeconds = Math.ceil(durationMs / 1000) + 600;
  const make = (capabilities?: object) =>
    Promise.all(
      TENANTS.flatMap((tenant) =>
        cluster.replicas.flatMap((_, replica) =>
          ["alice", "bob"].map((principal) =>
            cluster.client({
              tenant,
              principal,
              replica,
              expiresInSeconds,
              ...(capabilities && { capabilities: { ...capabilities } }),
            }),
          ),
        ),
      ),
    );
  return { withTasks: await make(), without: await make({ elicitation: {} }) };
}

/** Asked often, so only what is cheap to see: records that live, streams, subscriptions, sockets. */
async function drained(cluster: Cluster, redis: Redis, idle: Sample): Promise<boolean> {
  if ((await redis.zcard("{s00}:due")) > 0) return false;
  const now = await measure(cluster, redis);
  return (
    ["replicas: listeners", "Redis: subscribed channels", "Redis: tasks"].every(
      (name) => now.get(name) === 0,
    ) && (now.get("replicas: sockets") ?? 0) <= (idle.get("replicas: sockets") ?? 0) + 4
  );
}

/** A tombstone stays for an hour by design, and goes by Redis' own clock: each must have its end, and is brought there. */
async function forgetTombstones(redis: Redis): Promise<string[]> {
  const problems: string[] = [];
  for await (const keys of scanned(redis)) {
    for (const key of keys.filter((name) => /^\{s\d\d\}:t:/.test(name))) {
      const leftMs = await redis.pttl(key);
      if (leftMs === FOR_EVER || leftMs > TOMBSTONE_MS)
        problems.push(
          `${key} is a tombstone that stays for ${leftMs === FOR_EVER ? "ever" : `${leftMs} ms`}`,
        );
      await redis.pexpire(key, 1);
    }
  }
  return problems;
}

function excess(
  { name, from, more, why }: Limit,
  before: Readonly<Record<Limit["from"], Sample>>,
  end: Sample,
): string[] {
  const was = before[from].get(name);
  const is = end.get(name);
  if (was === undefined || is === undefined) return [`${name} was not measured`];
  return is <= was + more
    ? []
    : [`${name}: ${format(was)} ${from}, ${format(is)} at the end; ${more} more is allowed (${why})`];
}

/** One row as a line. */
export function presentRow(when: string, sample: Sample): string {
  return `${when}: ${[...sample].map(([name, value]) => `${name} ${format(value)}`).join(" · ")}`;
}

/** The whole as a table, with a column for each time and the limits at the end. */
export function presentSoak({ rows, load, limits, problems }: SoakReport): string {
  const names = [...(rows[0]?.sample.keys() ?? [])];
  const limitOf = (name: string): string => {
    const limit = limits.find((one) => one.name === name);
    if (!limit) return "";
    return limit.more === 0 ? `as ${limit.from}` : `${limit.from} + ${limit.more}: ${limit.why}`;
  };
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [
    line(["", ...rows.map(({ when }) => when), "may be"]),
    line(["---", ...rows.map(() => "---"), "---"]),
    ...names.map((name) =>
      line([name, ...rows.map(({ sample }) => format(sample.get(name) ?? 0)), limitOf(name)]),
    ),
    "",
    ...[...load.done].map(([name, n]) => `${n} × ${name}`),
    `${load.refused} refused for load`,
    "",
    ...problems.map((problem) => `NOT BACK ${problem}`),
    problems.length === 0 ? "all is back" : `${problems.length} not back`,
  ].join("\n");
}

function format(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(1);
}
