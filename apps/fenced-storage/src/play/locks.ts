import { connectNodes } from "@holdfast/app-kit/nodes";
import { startServer } from "@holdfast/app-kit/servers";
import { Redlock } from "@holdfast/core";
import type { Cleanup } from "@holdfast/testkit/cleanup";

/** Starts three lock servers, and resolves with their addresses. */
export function startLockServers(cleanup: Cleanup): Promise<string[]> {
  return Promise.all([1, 2, 3].map(async () => (await startServer(cleanup)).url));
}

/** Connects A or B to the lock servers. Calls that wait for a lock stop when the signal aborts. */
export async function connectLocks(urls: readonly string[], signal?: AbortSignal) {
  const { nodes, close } = await connectNodes("ioredis", urls);
  return { redlock: new Redlock(nodes, { ttlMs: 60_000, waitTimeoutMs: 60_000, signal }), close };
}
