import { defineConfig } from "vitest/config";

const conditions = ["perdure-source", "node", "import", "default"];

/** One run for all: units beside the code, `.redis.test.ts` on a real Redis, and `test/` for what crosses processes. */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: ["packages/*/src/**/*.test.ts", "apps/*/src/**/*.test.ts", "test/**/*.test.ts"],
    // Longer runs with faults, and those that need a Docker engine: `npm run test:faults`, `npm run test:compose`.
    exclude: [
      "**/node_modules/**",
      "**/*.cluster.redis.test.ts",
      "test/compose/**",
      "test/hostile/**",
      "test/load/**",
      "test/redis-trouble/**",
      "test/soak/**",
    ],
    globalSetup: ["test/global-setup.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ["default"],
  },
});
