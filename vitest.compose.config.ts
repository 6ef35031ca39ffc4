import { defineConfig } from "vitest/config";
import base from "./vitest.config.ts";

/** The tests on the local cluster: they need a Docker engine, so `npm test` leaves them out. */
export default defineConfig({
  ...base,
  test: {
    ...base.test,
    include: ["test/compose/**/*.test.ts"],
    exclude: [],
    testTimeout: 240_000,
    hookTimeout: 300_000,
  },
});
