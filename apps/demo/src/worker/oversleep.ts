import type { LockOptions } from "@holdfast/core";
import type { Resource } from "../setup.ts";
import type { HeldLock } from "./locker.ts";
import { visit, type Workplace } from "./visit.ts";

/**
 * Visits a fenced resource, checks the lock as it should, and is paused between that check and its write. No lock can
 * prevent the late write (Kleppmann, "How to do distributed locking"); only the database can, by the token.
 *
 * @param nap the pause
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
  // On a busy machine, the lock may be lost before the nap.
  while (!hasNapped && !place.stop.aborted) await visit(place, resource, dwell, untilFree);
}
