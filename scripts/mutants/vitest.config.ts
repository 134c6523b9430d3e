import { resolve } from "node:path";
import { defineConfig, mergeConfig } from "vitest/config";
import { shared } from "../../vitest.config.ts";
import type { FaultyText } from "./mutants.ts";

const core = resolve(import.meta.dirname, "../../packages/core");
const mutant: FaultyText | null = JSON.parse(process.env.HOLDFAST_MUTANT ?? "null");

/** Tests that would also fail on a busy machine, where a failure is no evidence. */
export const slow: readonly string[] = ["*.fuzz", "leaks", "system-clock", "turns", "blocked-waiter", "many-at-once"];

/** Core's tests, with one line of core's source replaced when it is loaded. */
export default mergeConfig(
  shared,
  defineConfig({
    root: core,
    plugins: [
      {
        name: "mutant",
        enforce: "pre",
        transform(code, id) {
          if (mutant === null || id !== resolve(core, "src", mutant.file)) return undefined;
          if (!code.includes(mutant.from)) this.error(`${mutant.file} does not contain: ${mutant.from}`);
          return code.replace(mutant.from, mutant.to);
        },
      },
    ],
    test: {
      exclude: slow.map((name) => `**/${name}.test.ts`),
      pool: "threads", // a mutant may loop forever: threads end when the process is killed
      testTimeout: 2_000,
    },
  }),
);
