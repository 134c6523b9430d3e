import { type LockNode, Redlock } from "@holdfast/core";
import { type Client, type Settings, ttlMs } from "./contender.ts";

/** Locks with these nodes. `disconnect` closes what the nodes use, once they are closed. */
export function holdfastClient(
  nodes: readonly LockNode[],
  { isPatient }: Settings,
  disconnect: () => Promise<void> | void,
): Client {
  const redlock = new Redlock(nodes, isPatient ? { nodeTimeoutMs: 5_000 } : {});
  const acquire = (keys: string | readonly string[]) =>
    redlock.acquire(keys, { ttlMs }).then((lock) => () => lock.release());
  return {
    acquire,
    acquireAll: acquire,
    async close() {
      await redlock.close();
      await disconnect();
    },
  };
}
