import { defineConfig, mergeConfig } from "vitest/config";
import shared from "../../vitest.shared.ts";

export default mergeConfig(shared, defineConfig({ test: { globalSetup: "test/build-programs.ts", isolate: false } }));
