import { existsSync } from "node:fs";
import { defineConfig, mergeConfig, type ViteUserConfig } from "vitest/config";
import shared from "../../vitest.shared.ts";

const memory = "/dev/shm";

// Every change is forced to the disk, which takes a few milliseconds each time. In memory the same calls take none.
const config: ViteUserConfig = existsSync(memory) ? { test: { env: { TMPDIR: memory } } } : {};

export default mergeConfig(shared, defineConfig(config));
