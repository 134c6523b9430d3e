import type { Resource, Setup } from "../setup.ts";
import type { HeldLock } from "./locker.ts";
import { sleepUnless, visit, type Workplace } from "./visit.ts";

/** The longest break between two visits, in milliseconds. */
const idleMsMax = 20;

/** Visits random resources, one after another, until `stop` aborts. */
export async function contend(place: Workplace, setup: Setup): Promise<void> {
  const { stop } = place;
  while (!stop.aborted) {
    const resource = pick(setup.resources, Math.random());
    const dwellMs = dwellOf(resource, setup.ttlMs);
    const dwell = async (lock: HeldLock): Promise<void> => {
      await sleepUnless(AbortSignal.any([stop, lock.signal]), dwellMs);
      // The last check before the write. Only a pause right after it can still do harm.
      lock.signal.throwIfAborted();
    };
    await visit(place, resource, dwell, { waitTimeoutMs: setup.patienceMs });
    await sleepUnless(stop, Math.random() * idleMsMax);
  }
}

/** Picks a resource by a number from 0 to below 1, in proportion to the weights. */
export function pick(resources: readonly Resource[], share: number): Resource {
  let left = share * resources.reduce((sum, { weight }) => sum + weight, 0);
  for (const resource of resources) {
    left -= resource.weight;
    if (left < 0) return resource;
  }
  return resources.at(-1) as Resource;
}

function dwellOf({ dwellMs: [min, max], longShare }: Resource, ttlMs: number): number {
  return Math.random() < longShare ? ttlMs * (1.1 + Math.random() / 5) : min + Math.random() * (max - min);
}
