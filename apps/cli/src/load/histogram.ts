/** Percentiles of times, in milliseconds; all 0 when there were none. */
export interface Percentiles {
  readonly count: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Each bucket is 2 % wider than the one before: that is how exact a percentile is, however many times were added. */
const GROWTH = Math.log(1.02);
const LEAST_MS = 0.1;

/** Times in buckets: its memory does not grow with how many are added. */
export class Histogram {
  readonly #buckets = new Map<number, number>();
  #count = 0;
  #max = 0;

  add(ms: number): void {
    const bucket = bucketOf(ms);
    this.#buckets.set(bucket, (this.#buckets.get(bucket) ?? 0) + 1);
    this.#count += 1;
    this.#max = Math.max(this.#max, ms);
  }

  get count(): number {
    return this.#count;
  }

  /** The time that the share `p` of all (0 to 1) is not above, to 2 %; 0 when there is none. */
  percentile(p: number): number {
    let left = Math.ceil(p * this.#count);
    if (left <= 0) return 0;
    for (const bucket of [...this.#buckets.keys()].sort((a, b) => a - b)) {
      left -= this.#buckets.get(bucket) ?? 0;
      if (left <= 0) return Math.min(topOf(bucket), this.#max);
    }
    return this.#max;
  }

  /** How many were longer, to 2 %. */
  countAbove(ms: number): number {
    const limit = bucketOf(ms);
    let above = 0;
    for (const [bucket, count] of this.#buckets) if (bucket > limit) above += count;
    return above;
  }

  summary(): Percentiles {
    const [p50 = 0, p90 = 0, p99 = 0, max = 0] = [0.5, 0.9, 0.99, 1].map((p) => round(this.percentile(p)));
    return { count: this.#count, p50, p90, p99, max };
  }
}

function bucketOf(ms: number): number {
  return ms <= LEAST_MS ? 0 : Math.ceil(Math.log(ms / LEAST_MS) / GROWTH);
}

function topOf(bucket: number): number {
  return LEAST_MS * Math.exp(bucket * GROWTH);
}

function round(ms: number): number {
  return Math.round(ms * 10) / 10;
}
