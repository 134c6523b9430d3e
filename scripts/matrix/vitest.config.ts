import { resolve } from "node:path";
import { defineConfig } from "vitest/config";
import { shared } from "../../vitest.config.ts";

/**
 * The conformance tests of the adapters that the command line names, over the server that an environment variable names,
 * with those in `.matrix.ts` files, which are too slow for every test run. The comparison of the lock script's paths, as
 * servers differ most in how they run scripts. And what databases differ in.
 */
export default defineConfig({
  ...shared,
  root: resolve(import.meta.dirname, "../.."),
  test: {
    ...shared.test,
    include: [
      "packages/*/test/conformance*.test.ts",
      "packages/*/test/conformance*.matrix.ts",
      "packages/redis/test/script-paths.test.ts",
      "packages/mysql/test/*.test.ts",
    ],
    // A busy machine may take minutes for the histories that compare the paths of the script.
    testTimeout: 600_000,
    // Most tests wait for claims to expire.
    maxWorkers: 4,
    reporters: [["json", { outputFile: resolve(import.meta.dirname, "../reports/matrix.json") }]],
  },
});
