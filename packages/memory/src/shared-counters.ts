import { type Numbered, type Portion, portionOf } from "./scan.ts";

interface Counter extends Numbered {
  fence: number;
}

/** A fixed number of fence counters, each for all resources whose names have the same hash. None is ever forgotten. */
export interface SharedCounters {
  /** Returns the counter that covers a resource; 0 if there is none yet. */
  fenceOf(resource: string): number;
  /** Raises the counter that covers a resource, unless it is as high already. */
  raise(resource: string, atLeast: number): void;
  /** Raises all counters, absent ones included. */
  raiseAll(atLeast: number): void;
  /** Returns the lowest of all counters; 0 if one of them is absent. */
  lowest(): number;
  /** Returns whether a cursor is one of `scan`. */
  continues(cursor: unknown): boolean;
  /** Returns the values of the next counters that are present, and the cursor of the portion after them. */
  scan(cursor: string | undefined): { readonly fences: readonly number[] } & Pick<Portion, "cursor">;
}

/** Creates so many counters, all absent. */
export function createSharedCounters(count: number, id: string): SharedCounters {
  const counters = new Map<string, Counter>();
  const raise = (slot: string, atLeast: number): void => {
    const counter = counters.get(slot);
    if (counter === undefined) counters.set(slot, { fence: atLeast, number: counters.size });
    else counter.fence = Math.max(counter.fence, atLeast);
  };
  const slotOf = (resource: string): string => String(hashOf(resource) % count);
  return {
    fenceOf: (resource) => counters.get(slotOf(resource))?.fence ?? 0,
    raise: (resource, atLeast) => raise(slotOf(resource), atLeast),
    raiseAll(atLeast) {
      for (let slot = 0; slot < count && atLeast > 0; slot++) raise(String(slot), atLeast);
    },
    lowest: () => (counters.size < count ? 0 : Math.min(...[...counters.values()].map(({ fence }) => fence))),
    continues: (cursor) => typeof cursor === "string" && cursor.startsWith(`${id}:`),
    scan(given) {
      const { keys, cursor } = portionOf(counters, id, counters.size, given);
      return { fences: keys.map((slot) => (counters.get(slot) as Counter).fence), cursor };
    },
  };
}

/** FNV-1a over the UTF-16 code units. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
