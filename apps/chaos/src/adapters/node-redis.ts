import { connectNodes } from "@holdfast/app-kit/nodes";
import type { ChaosAdapter } from "../adapter.ts";

/** Lock nodes over node-redis. */
export const connect: ChaosAdapter["connect"] = (urls, options) =>
  connectNodes("node-redis", urls, { ...options, reconnectMs: 50, names: urls.map((_, index) => `n${index + 1}`) });
