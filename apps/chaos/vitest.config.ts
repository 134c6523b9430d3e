import { mergeConfig } from "vitest/config";
import shared from "../../vitest.shared.ts";

// Real servers and processes: nothing here depends on time, but a busy machine may need a lot of it.
export default mergeConfig(shared, { test: { testTimeout: 100_000, hookTimeout: 60_000 } });
