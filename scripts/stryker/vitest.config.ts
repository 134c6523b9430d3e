import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { defineConfig, mergeConfig } from "vitest/config";
import { shared } from "../../vitest.config.ts";
import { slow } from "../mutants/mutants.ts";

/** Stryker runs the tests in a copy of the package. */
const sandbox = process.cwd();
const { name, exports } = JSON.parse(readFileSync(resolve(sandbox, "package.json"), "utf8"));
const entries = Object.entries<Record<string, string>>(exports);

/** Further tests that take seconds. Stryker's run is long without them. */
const slowWithStryker = ["starvation", "local-queues", "many-at-once"];

/** The tests of one package, which import the package, by its name, from the sandbox. */
export default mergeConfig(
  shared,
  defineConfig({
    root: sandbox,
    resolve: {
      alias: entries.map(([path, entry]) => ({
        find: new RegExp(`^${name + path.slice(1)}$`),
        replacement: resolve(sandbox, entry["@holdfast/source"] ?? ""),
      })),
    },
    test: { exclude: [...slow, ...slowWithStryker].map((file) => `**/${file}.test.ts`), testTimeout: 2_000 },
  }),
);
