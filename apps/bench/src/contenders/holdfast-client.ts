import { type Lock, type LockNode, Redlock } from "@holdfast/core";
import type { Client, Release, Settings } from "./contender.ts";

/** Locks with these nodes. `disconnect` closes what the nodes use, once they are closed. */
export function holdfastClient(
  nodes: readonly LockNode[],
  { isPatient }: Settings,
  disconnect: () => Promise<void> | void,
): Client {
  const redlock = new Redlock(nodes, isPatient ? { nodeTimeoutMs: 5_000 } : {});
  const releaseOf = (lock: Lock): Release => {
    return () => lock.release();
  };
  return {
    acquire: (key, ttlMs) => redlock.acquire(key, { ttlMs }).then(releaseOf),
    acquireAll: (keys, ttlMs) => redlock.acquire(keys, { ttlMs }).then(releaseOf),
    async close() {
      await redlock.close();
      await disconnect();
    },
  };
}
