import { connectNodes } from "@holdfast/app-kit/nodes";
import { Redlock } from "@holdfast/core";

/** Connects A or B to the lock servers. Calls that wait for a lock stop when the signal aborts. */
export async function connectLocks(urls: readonly string[], signal?: AbortSignal) {
  const { nodes, close } = await connectNodes("ioredis", urls);
  return { redlock: new Redlock(nodes, { ttlMs: 60_000, waitTimeoutMs: 60_000, signal }), close };
}
