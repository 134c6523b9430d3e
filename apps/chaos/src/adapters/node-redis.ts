import { connectNodes } from "@holdfast/app-kit/nodes";
import type { ChaosAdapter } from "../adapter.ts";

/** Lock nodes over node-redis. A server may be down: its client goes on trying to connect. */
export const connect: ChaosAdapter["connect"] = (urls, options) =>
  connectNodes("node-redis", urls, { ...options, reconnectMs: 50, patienceMs: 500 });
