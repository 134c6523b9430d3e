import { connectNodes } from "@holdfast/app-kit/nodes";
import type { ChaosAdapter } from "../adapter.ts";

/** Lock nodes over ioredis. A server may be down: its client goes on trying to connect. */
export const connect: ChaosAdapter["connect"] = (urls, options) =>
  connectNodes("ioredis", urls, { ...options, reconnectMs: 50, patienceMs: 500 });
