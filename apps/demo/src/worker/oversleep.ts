import type { LockOptions } from "@holdfast/core";
import type { Resource } from "../setup.ts";
import type { HeldLock } from "./locker.ts";
import { visit, type Workplace } from "./visit.ts";

/**
 * Visits a fenced resource, looks at its lock as it should, and is paused between that look and its write. No lock can
 * protect from that (Kleppmann, "How to do distributed locking"): only the database can, by the token.
 *
 * @param nap the pause; what it resolves to is of no interest, as the worker does not know that there was one
 */
export async function oversleep(
  place: Workplace,
  resource: Resource,
  nap: () => Promise<unknown>,
  options: LockOptions = {},
): Promise<void> {
  let hasNapped = false;
  const dwell = async (lock: HeldLock): Promise<void> => {
    lock.signal.throwIfAborted();
    hasNapped = true;
    await nap();
  };
  const untilFree = { waitTimeoutMs: Number.POSITIVE_INFINITY, ...options };
  // On a machine that stalls, the lock may be lost before the nap.
  while (!hasNapped && !place.stop.aborted) await visit(place, resource, dwell, untilFree);
}
