import { Histogram, type Percentiles } from "./histogram.ts";
import { KINDS, type Kind } from "./mix.ts";

/** What happened in one second of the load. Times in milliseconds. */
export interface Second {
  /** Seconds since the start. */
  readonly at: number;
  readonly created: number;
  readonly completed: number;
  readonly failedRequests: number;
  readonly createP50: number;
  readonly createP99: number;
  readonly taskP50: number;
  readonly taskP99: number;
}

/** All that is counted while the load runs. */
export interface Counts {
  readonly requests: number;
  readonly failedRequests: number;
  /** How often each reason was given. */
  readonly failures: Readonly<Record<string, number>>;
  readonly created: number;
  /** Creations that got no task: they are requests that failed, and nothing is lost with them. */
  readonly refused: number;
  readonly completed: number;
  readonly failedTasks: number;
  /** Completed with another's result. */
  readonly mixedUp: number;
  readonly frames: number;
  readonly lateFrames: number;
  readonly missingFrames: number;
  readonly reopenedStreams: number;
}

/** Latencies of the whole load. */
export interface Latencies {
  readonly create: Percentiles;
  readonly poll: Percentiles;
  readonly push: Percentiles;
  /** From the acknowledged creation until the client sees the end, by kind. */
  readonly task: Readonly<Record<Kind, Percentiles>>;
}

/** A frame that comes so long after its change, while its stream was open, is late. Milliseconds. */
export const LATE_MS = 1000;

interface Bucket {
  created: number;
  completed: number;
  failedRequests: number;
  readonly create: Histogram;
  readonly task: Histogram;
}

/** Keeps what happens, second by second. `nowMs` is monotonic. */
export class Timeline {
  readonly #nowMs: () => number;
  readonly #startedMs: number;
  readonly #buckets: Bucket[] = [];
  readonly #failures = new Map<string, number>();
  readonly #create = new Histogram();
  readonly #poll = new Histogram();
  readonly #push = new Histogram();
  readonly #task = new Map(KINDS.map((kind) => [kind, new Histogram()]));
  readonly #counts = {
    requests: 0,
    failedRequests: 0,
    created: 0,
    refused: 0,
    completed: 0,
    failedTasks: 0,
    mixedUp: 0,
  };
  #missingFrames = 0;
  #reopenedStreams = 0;
  /** How far the server's clock seems ahead, at most: the quickest frame tells. */
  #quickestMs = Infinity;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.#startedMs = nowMs();
  }

  /** Seconds since the start. */
  get at(): number {
    return (this.#nowMs() - this.#startedMs) / 1000;
  }

  request(): void {
    this.#counts.requests += 1;
  }

  failed(reason: string): void {
    this.#counts.failedRequests += 1;
    this.#failures.set(reason, (this.#failures.get(reason) ?? 0) + 1);
    this.#now().failedRequests += 1;
  }

  created(ms: number): void {
    this.#counts.created += 1;
    this.#now().created += 1;
    this.#now().create.add(ms);
    this.#create.add(ms);
  }

  refused(): void {
    this.#counts.refused += 1;
  }

  polled(ms: number): void {
    this.#poll.add(ms);
  }

  completed(kind: Kind, ms: number): void {
    this.#counts.completed += 1;
    this.#now().completed += 1;
    this.#now().task.add(ms);
    this.#task.get(kind)?.add(ms);
  }

  failedTask(): void {
    this.#counts.failedTasks += 1;
  }

  mixedUp(): void {
    this.#counts.mixedUp += 1;
  }

  /** A frame of a change that was made at `changedAtMs` by the server's clock; `wallMs` is ours. */
  frame(changedAtMs: number, wallMs: number): void {
    const lagMs = wallMs - changedAtMs;
    this.#quickestMs = Math.min(this.#quickestMs, lagMs);
    this.#push.add(Math.max(0, lagMs));
  }

  missingFrame(): void {
    this.#missingFrames += 1;
  }

  reopenedStream(): void {
    this.#reopenedStreams += 1;
  }

  counts(): Counts {
    const offsetMs = Number.isFinite(this.#quickestMs) ? Math.max(0, this.#quickestMs) : 0;
    return {
      ...this.#counts,
      failures: Object.fromEntries([...this.#failures].sort(([, a], [, b]) => b - a)),
      frames: this.#push.count,
      lateFrames: this.#push.countAbove(LATE_MS + offsetMs),
      missingFrames: this.#missingFrames,
      reopenedStreams: this.#reopenedStreams,
    };
  }

  latencies(): Latencies {
    const of = (kind: Kind): Percentiles => (this.#task.get(kind) ?? new Histogram()).summary();
    return {
      create: this.#create.summary(),
      poll: this.#poll.summary(),
      push: this.#push.summary(),
      task: { plain: of("plain"), stepped: of("stepped"), input: of("input"), sleep: of("sleep") },
    };
  }

  seconds(): readonly Second[] {
    return this.#buckets.map(({ created, completed, failedRequests, create, task }, at) => ({
      at,
      created,
      completed,
      failedRequests,
      createP50: Math.round(create.percentile(0.5)),
      createP99: Math.round(create.percentile(0.99)),
      taskP50: Math.round(task.percentile(0.5)),
      taskP99: Math.round(task.percentile(0.99)),
    }));
  }

  #now(): Bucket {
    const at = Math.floor(this.at);
    while (this.#buckets.length <= at) this.#buckets.push(emptyBucket());
    const bucket = this.#buckets[at];
    if (bucket === undefined) throw new RangeError(`No second ${at}`);
    return bucket;
  }
}

function emptyBucket(): Bucket {
  return { created: 0, completed: 0, failedRequests: 0, create: new Histogram(), task: new Histogram() };
}
