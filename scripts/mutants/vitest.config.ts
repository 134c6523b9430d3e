import { resolve } from "node:path";
import { defineConfig, mergeConfig } from "vitest/config";
import { shared } from "../../vitest.config.ts";
import { mutants } from "./mutants.ts";

const core = resolve(import.meta.dirname, "../../packages/core");
const mutant = mutants[Number(process.env.HOLDFAST_MUTANT)];

/** Core's tests, with one line of core's source broken on the way into them. */
export default mergeConfig(
  shared,
  defineConfig({
    root: core,
    plugins: [
      {
        name: "mutant",
        enforce: "pre",
        transform(code, id) {
          if (mutant === undefined || id !== resolve(core, "src", mutant.file)) return undefined;
          if (!code.includes(mutant.from)) this.error(`${mutant.file} does not contain: ${mutant.from}`);
          return code.replace(mutant.from, mutant.to);
        },
      },
    ],
    test: {
      // Not the slow ones: what takes long on a busy machine must not pass for a finding.
      exclude: ["*.fuzz", "leaks", "system-clock", "turns", "blocked-waiter", "many-at-once"].map(
        (name) => `**/${name}.test.ts`,
      ),
      // A mutant may loop for ever: a thread ends with the process that is then killed.
      pool: "threads",
      testTimeout: 2_000,
      reporters: [["json", { outputFile: resolve(import.meta.dirname, "../reports/mutant.json") }]],
    },
  }),
);
