import { defineConfig } from "vitest/config";
import base from "./vitest.config.ts";

/** Hostile input, trouble with Redis, load and a soak, on real processes: several minutes, so `npm test` leaves them out. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: [
      "packages/redis/src/**/*.cluster.redis.test.ts",
      "test/hostile/**/*.test.ts",
      "test/load/**/*.test.ts",
      "test/redis-trouble/**/*.test.ts",
      "test/soak/**/*.test.ts",
    ],
    exclude: [],
    fileParallelism: false,
  },
});
