import type { Clock } from "@holdfast/core";
import { createSweep } from "./sweep.ts";

/** How long a list is kept after the last request of a waiter, in milliseconds. Waiters retry sooner than that. */
const listTtlMs = 10_000;

interface WaitingList {
  /** Each waiter, with the fence counter of the resource when it was added. */
  readonly waiters: Map<string, number>;
  readonly endMs: number;
}

/**
 * The waiters for each resource. The lists are hints: they decide which waiter is named next, never who gets a lock.
 */
export interface WaitingLists {
  /** Adds a waiter to the list of a resource unless it is already there. */
  add(resource: string, waiter: string, sinceFence: number): void;
  /** Removes a waiter from the list. */
  remove(resource: string, waiter: string): void;
  /** Removes and returns the first waiter. Then adds `last`, if given, at the end of the list. */
  takeNext(resource: string, last?: string): string | undefined;
}

/** Creates empty waiting lists. */
export function createWaitingLists(clock: Pick<Clock, "monotonicMs">): WaitingLists {
  const lists = new Map<string, WaitingList>();
  const hasEnded = ({ endMs }: WaitingList): boolean => clock.monotonicMs() >= endMs;
  const forgetEnded = createSweep(lists, hasEnded);

  const waitersFor = (resource: string): Map<string, number> => {
    const list = lists.get(resource);
    return list === undefined || hasEnded(list) ? new Map() : list.waiters;
  };
  const add = (resource: string, waiter: string, sinceFence: number): void => {
    const waiters = waitersFor(resource);
    if (!waiters.has(waiter)) waiters.set(waiter, sinceFence);
    lists.set(resource, { waiters, endMs: clock.monotonicMs() + listTtlMs });
    forgetEnded();
  };

  return {
    add,
    remove(resource, waiter) {
      waitersFor(resource).delete(waiter);
    },
    takeNext(resource, last) {
      const waiters = waitersFor(resource);
      const inOrder = [...waiters].sort(byFence);
      const [first, end] = [inOrder[0], inOrder.at(-1)];
      if (first === undefined || end === undefined) return undefined;
      waiters.delete(first[0]);
      if (last !== undefined) add(resource, last, end[1] + 1);
      return first[0];
    },
  };
}

/**
 * Orders waiters by fence counter, then by value, so that all nodes name the same one whatever the order of requests.
 */
function byFence([a, since]: readonly [string, number], [b, otherSince]: readonly [string, number]): number {
  return since - otherSince || (a < b ? -1 : 1);
}
