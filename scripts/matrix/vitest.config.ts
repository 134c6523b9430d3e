import { resolve } from "node:path";
import { defineConfig } from "vitest/config";
import { shared } from "../../vitest.config.ts";

/**
 * The conformance tests of all adapters, over the server that `HOLDFAST_REDIS_SERVER` names, with those in `.matrix.ts`
 * files, which are too slow for every test run. And the comparison of the lock script's paths, as servers differ most
 * in how they run scripts.
 */
export default defineConfig({
  ...shared,
  root: resolve(import.meta.dirname, "../.."),
  test: {
    include: [
      "packages/*/test/conformance*.test.ts",
      "packages/*/test/conformance*.matrix.ts",
      "packages/redis/test/script-paths.test.ts",
    ],
    exclude: ["packages/memory/**", "packages/sqlite/**"],
    // A busy machine may take minutes for the histories that compare the paths of the script.
    testTimeout: 600_000,
    // Most tests wait for claims to expire.
    maxWorkers: 4,
    reporters: [["json", { outputFile: resolve(import.meta.dirname, "../reports/matrix.json") }]],
  },
});
