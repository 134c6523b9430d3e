import { defineConfig, type ViteUserConfig } from "vitest/config";

const conditions = ["@holdfast/source", "node", "import", "default"];

/**
 * What the test runs of all packages share: workspace packages are tested from source, so that no build is needed,
 * and each run leaves a report that `scripts/test.ts` adds up.
 */
const shared: ViteUserConfig = defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["test/**/*.test.ts"],
    // Most tests wait for a server, for the end of a ttl or for another process most of the time.
    maxWorkers: 3,
    // What takes milliseconds may take seconds on a busy machine. These only say when something has surely hung.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000 } },
    reporters: ["default", ["json", { outputFile: "reports/tests.json" }]],
  },
});

export default shared;
