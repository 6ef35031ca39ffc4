import { Counter, type Registry } from "prom-client";

/** How often a verified token was remembered, and how often not; both since the start. */
export interface TokenLookUps {
  readonly hits: number;
  readonly misses: number;
}

/** What the verifier has counted anyway, told at each scrape. */
export function createTokenCacheCounter(registers: Registry[]) {
  let lookUps: (() => TokenLookUps) | undefined;

  return {
    /** `result`: `"hit"` or `"miss"`. */
    tokenCache: new Counter({
      name: "perdure_token_cache_total",
      help: "Look-ups of verified tokens",
      labelNames: ["result"] as const,
      registers,
      collect() {
        if (lookUps === undefined) return;
        const { hits, misses } = lookUps();
        this.reset();
        this.inc({ result: "hit" }, hits);
        this.inc({ result: "miss" }, misses);
      },
    }),
    /** Gives the counter its source. */
    watchTokenCache(source: () => TokenLookUps): void {
      lookUps = source;
    },
  };
}
