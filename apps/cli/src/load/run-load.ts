import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { createListener, createPoller } from "./followers.ts";
import { type Kind, type Weights, takeTurns } from "./mix.ts";
import { createOpenTasks, createSend } from "./open-tasks.ts";
import { type Fault, feltFaults } from "./recovery.ts";
import type { LoadReport } from "./report.ts";
import { type OpsUrls, watchResources } from "./resources.ts";
import { Timeline } from "./timeline.ts";
import { createWire } from "./wire.ts";

/** A load. */
export interface LoadOptions {
  readonly url: string;
  readonly token?: string | undefined;
  /** Tasks a second; or as many as are taken, never more than `maxOpen` at a time. */
  readonly rate: number | "max";
  readonly seconds: number;
  readonly mix: Weights<Kind>;
  /** Whether a task is polled or listened for. */
  readonly followers: Weights<"poller" | "listener">;
  readonly maxOpen: number;
  /** How long tasks may take to end once no more are made; then they count as lost. Seconds. */
  readonly drainSeconds: number;
  readonly opsUrls: OpsUrls;
  /** Told how it goes, once a second. */
  readonly onSecond: (progress: Progress) => void;
  /** Ends the load early. */
  readonly signal?: AbortSignal;
}

/** How a load goes. */
export interface Progress {
  readonly at: number;
  readonly created: number;
  readonly completed: number;
  readonly open: number;
  readonly failedRequests: number;
  readonly lost: number;
  /** In the second before. */
  readonly createdNow: number;
  readonly completedNow: number;
}

/** A load that runs. */
export interface RunningLoad {
  /** Puts a fault into the picture, and gives what marks its end. */
  mark(name: string): () => void;
  /** Resolves once every task has ended, or the time for that is over. Rejects never for what the server does. */
  readonly report: Promise<LoadReport>;
}

const TICK_MS = 10;
/** Creations on the way at a time. */
const MAX_CREATING = 64;
const AFTER_REFUSAL_MS = 100;
const created = z.looseObject({ resultType: z.literal("task"), taskId: z.string() });

/** Starts a load. */
export function startLoad(options: LoadOptions): RunningLoad {
  const faults: { name: string; at: number; until?: number }[] = [];
  const timeline = new Timeline(() => performance.now());
  return {
    mark(name) {
      const fault: { name: string; at: number; until?: number } = { name, at: timeline.at };
      faults.push(fault);
      return () => {
        fault.until = timeline.at;
      };
    },
    report: run(options, timeline, faults),
  };
}

async function run(options: LoadOptions, timeline: Timeline, faults: readonly Fault[]): Promise<LoadReport> {
  const startedAt = new Date();
  const stopped = new AbortController();
  const wire = createWire({ url: options.url, token: options.token });
  const send = createSend(wire, timeline);
  const tasks = createOpenTasks(send, timeline);
  const followers = {
    poller: createPoller(tasks, stopped.signal),
    listener: createListener({ tasks, wire, timeline, stopped: stopped.signal }),
  };
  const nextKind = takeTurns(options.mix);
  const nextFollower = takeTurns(options.followers);
  const resources = watchResources(options.opsUrls);
  let made = 0;
  const creating = { count: 0 };

  const create = async (): Promise<void> => {
    made += 1;
    creating.count += 1;
    const n = made;
    const kind = nextKind();
    const name = `load_${kind}`;
    const reply = await send({
      method: "tools/call",
      name,
      params: { name, arguments: { n } },
      headers: { "idempotency-key": randomUUID() },
    });
    const result = reply.ok ? created.safeParse(reply.result) : undefined;
    if (result?.success) {
      timeline.created(reply.ms);
      followers[nextFollower()].follow(tasks.add({ taskId: result.data.taskId, kind, n }));
    } else {
      timeline.refused();
      await delay(AFTER_REFUSAL_MS);
    }
    creating.count -= 1;
  };

  const room = (): number =>
    Math.min(MAX_CREATING - creating.count, options.maxOpen - tasks.count - creating.count);
  const due = (): number =>
    options.rate === "max" ? Infinity : Math.floor(timeline.at * options.rate) - made;

  let last = timeline.counts();
  const tell = setInterval(() => {
    const counts = timeline.counts();
    options.onSecond({
      at: timeline.at,
      ...counts,
      open: tasks.count,
      lost: tasks.lost.length,
      createdNow: counts.created - last.created,
      completedNow: counts.completed - last.completed,
    });
    last = counts;
    void resources.sample(timeline.at);
  }, 1000);

  const isOver = (): boolean => options.signal?.aborted === true;
  let heldBack = 0;
  while (timeline.at < options.seconds && !isOver()) {
    const asked = due();
    const now = Math.min(asked, room());
    for (let at = 0; at < now; at += 1) void create();
    if (Number.isFinite(asked)) heldBack = Math.max(heldBack, asked - Math.max(0, now));
    await delay(TICK_MS);
  }
  const loadSeconds = timeline.at;
  const deadline = loadSeconds + options.drainSeconds;
  while ((creating.count > 0 || tasks.count > 0) && timeline.at < deadline) await delay(TICK_MS);
  const unended = tasks.remaining().map(({ taskId }) => taskId);
  while (followers.listener.awaited > 0) await delay(TICK_MS);
  clearInterval(tell);
  stopped.abort();
  wire.close();
  const seconds = timeline.seconds();
  return {
    startedAt: startedAt.toISOString(),
    url: options.url,
    rate: options.rate,
    mix: Object.fromEntries(options.mix),
    followers: Object.fromEntries(options.followers),
    loadSeconds: Math.round(loadSeconds * 10) / 10,
    heldBack,
    counts: timeline.counts(),
    lost: tasks.lost.length + unended.length,
    lostIds: [...tasks.lost, ...unended].slice(0, 20),
    latencies: timeline.latencies(),
    seconds,
    faults: feltFaults(faults, seconds),
    usage: resources.samples,
  };
}
