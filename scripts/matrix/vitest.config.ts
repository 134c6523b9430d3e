import { resolve } from "node:path";
import { mergeConfig } from "vitest/config";
import shared from "../../vitest.shared.ts";

/**
 * The conformance tests of all adapters, on the server that `HOLDFAST_REDIS_SERVER` names: those of every test run, and
 * those with the ending `.matrix.ts`, which are for clients that rarely differ from the others.
 */
export default mergeConfig(shared, {
  test: {
    root: resolve(import.meta.dirname, "../.."),
    include: ["packages/*/test/conformance*.test.ts", "packages/*/test/conformance*.matrix.ts"],
    reporters: [["json", { outputFile: resolve(import.meta.dirname, "../reports/matrix.json") }]],
  },
});
