import { defineConfig, mergeConfig } from "vitest/config";
import shared from "../../vitest.shared.ts";

/** Simulations compute all the time: on a busy machine, each takes its time. */
export default mergeConfig(shared, defineConfig({ test: { testTimeout: 120_000 } }));
