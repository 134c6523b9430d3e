import { type Lock, type LockNode, Redlock } from "@holdfast/core";
import type { Client, Release, Settings } from "./contender.ts";

/** A node that may have connections of its own. */
type Node = LockNode & { close?(): Promise<void> };

/** Holdfast over these nodes, as its defaults make it. */
export function holdfastClient(nodes: readonly Node[], settings: Settings, disconnect: () => void): Client {
  const redlock = new Redlock(nodes, settings.isPatient ? { nodeTimeoutMs: 5_000 } : {});
  const releaseOf = settings.awaitsRelease ? awaited : unawaited;
  return {
    acquire: (keys, ttlMs) => redlock.acquire(keys, { ttlMs }).then(releaseOf),
    async close() {
      await Promise.all(nodes.map((node) => node.close?.()));
      disconnect();
    },
  };
}

function awaited(lock: Lock): Release {
  return () => lock.release();
}

/** The one place that says how a release is not waited for. */
function unawaited(lock: Lock): Release {
  return () => {
    lock.release().catch(() => {});
    return undefined;
  };
}
