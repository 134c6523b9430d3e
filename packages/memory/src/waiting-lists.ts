import type { Clock } from "@holdfast/core";
import { createSweep } from "./sweep.ts";

/** How long a list is kept after the last request of a waiter, in milliseconds. Waiters retry sooner than that. */
const listTtlMs = 10_000;

/** How long new sharers are denied after the denial of an exclusive waiter, in milliseconds. */
const reservationMs = 1_000;

interface WaitingList {
  /** Each waiter of either kind, with the fence counter of the resource when it was added. */
  readonly shared: Map<string, number>;
  readonly exclusive: Map<string, number>;
  readonly endMs: number;
  reservedUntilMs: number;
}

/**
 * The waiters for each resource. The lists are hints: they decide which waiter is named next, never who gets a lock.
 */
export interface WaitingLists {
  /** Adds a waiter to the list of a resource unless it is already there. */
  add(resource: string, waiter: string, shared: boolean, sinceFence: number): void;
  /** Removes a waiter from the list. */
  remove(resource: string, waiter: string, shared: boolean): void;
  /**
   * Removes and returns those whose turn it is: all waiters of shared requests, or else the first exclusive one; after
   * sharers the other way round. Then adds `last`, if given, at the end of the list.
   */
  takeNext(resource: string, afterSharers?: boolean, last?: string): readonly string[];
  /** Reserves a shared resource for the exclusive waiters in its list, for about a second. */
  reserve(resource: string): void;
  /** Returns when the reservation of a resource ends; undefined if there is none. */
  reservedUntil(resource: string): number | undefined;
  /** Ends the reservation of a resource. */
  endReservation(resource: string): void;
}

/** Creates empty waiting lists. */
export function createWaitingLists(clock: Pick<Clock, "monotonicMs">): WaitingLists {
  const lists = new Map<string, WaitingList>();
  const hasEnded = ({ endMs }: WaitingList): boolean => clock.monotonicMs() >= endMs;
  const forgetEnded = createSweep(lists, hasEnded);

  const listFor = (resource: string): WaitingList | undefined => {
    const list = lists.get(resource);
    return list === undefined || hasEnded(list) ? undefined : list;
  };
  const waitersOf = (list: WaitingList, shared: boolean): Map<string, number> =>
    shared ? list.shared : list.exclusive;

  const add = (resource: string, waiter: string, shared: boolean, sinceFence: number): void => {
    const endMs = clock.monotonicMs() + listTtlMs;
    const list = { shared: new Map(), exclusive: new Map(), reservedUntilMs: 0, ...listFor(resource), endMs };
    const waiters = waitersOf(list, shared);
    if (!waiters.has(waiter)) waiters.set(waiter, sinceFence);
    lists.set(resource, list);
    forgetEnded();
  };

  return {
    add,
    remove(resource, waiter, shared) {
      const list = listFor(resource);
      if (list !== undefined) waitersOf(list, shared).delete(waiter);
    },
    takeNext(resource, afterSharers = false, last) {
      const list = listFor(resource);
      if (list === undefined) return [];
      const { shared, exclusive } = list;
      const latest = Math.max(...shared.values(), ...exclusive.values());
      const turn = shared.size > 0 && !(afterSharers && exclusive.size > 0) ? shared : exclusive;
      const named = inOrder(turn).slice(0, turn === shared ? turn.size : 1);
      for (const waiter of named) turn.delete(waiter);
      if (last !== undefined && named.length > 0) add(resource, last, false, latest + 1);
      return named;
    },
    reserve(resource) {
      const list = listFor(resource);
      if (list !== undefined) list.reservedUntilMs = clock.monotonicMs() + reservationMs;
    },
    reservedUntil(resource) {
      const untilMs = listFor(resource)?.reservedUntilMs ?? 0;
      return untilMs > clock.monotonicMs() ? untilMs : undefined;
    },
    endReservation(resource) {
      const list = listFor(resource);
      if (list !== undefined) list.reservedUntilMs = 0;
    },
  };
}

/**
 * Orders waiters by fence counter, then by value, so that all nodes name the same one whatever the order of requests.
 */
function inOrder(waiters: ReadonlyMap<string, number>): readonly string[] {
  const sorted = [...waiters].sort(([a, since], [b, otherSince]) => since - otherSince || (a < b ? -1 : 1));
  return sorted.map(([waiter]) => waiter);
}
