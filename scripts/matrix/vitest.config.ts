import { resolve } from "node:path";
import { defineConfig } from "vitest/config";
import { shared } from "../../vitest.config.ts";

/**
 * The conformance tests of all adapters, over the server that `HOLDFAST_REDIS_SERVER` names: those of every test run,
 * and those that end in `.matrix.ts`, which would cost every test run more time than they are worth. And the comparison of the
 * lock script's ways to do the same, as servers differ most in what scripts meet.
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
    exclude: ["packages/memory/**"],
    // Most of the time goes into waiting for claims to expire.
    maxWorkers: 4,
    reporters: [["json", { outputFile: resolve(import.meta.dirname, "../reports/matrix.json") }]],
  },
});
