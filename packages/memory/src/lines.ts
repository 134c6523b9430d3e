import type { Clock } from "@holdfast/core";

/** How long a line is kept after somebody has last asked for a place, in milliseconds: those who wait ask again before. */
const lineMs = 10_000;

interface Line {
  /** Who stands in it, and since which fence counter of the resource. */
  readonly places: Map<string, number>;
  readonly untilMs: number;
}

/** Who waits for which resource: only hints, which say who is to be named, and never who is granted. */
export interface Lines {
  /** Puts the waiter into the line of a resource, unless it stands there. */
  enter(resource: string, waiter: string, sinceFence: number): void;
  /** Takes the waiter out of it. */
  leave(resource: string, waiter: string): void;
  /** Takes the first out of it, and puts a waiter, if given, behind all who stood there. */
  takeNext(resource: string, waiter?: string): string | undefined;
}

/** Makes lines in which nobody stands yet. */
export function createLines(clock: Pick<Clock, "monotonicMs">): Lines {
  const lines = new Map<string, Line>();

  const placesOf = (resource: string): Map<string, number> => {
    const line = lines.get(resource);
    return line && clock.monotonicMs() < line.untilMs ? line.places : new Map();
  };
  /** Lines that nobody asks for any more must not pile up: they are in the order of `untilMs`. */
  const forgetOld = (): void => {
    for (const [resource, { untilMs }] of lines) {
      if (clock.monotonicMs() < untilMs) return;
      lines.delete(resource);
    }
  };
  const enter = (resource: string, waiter: string, since: number): void => {
    const places = placesOf(resource);
    if (!places.has(waiter)) places.set(waiter, since);
    lines.delete(resource); // so that it goes to the end of the map
    lines.set(resource, { places, untilMs: clock.monotonicMs() + lineMs });
    forgetOld();
  };

  return {
    enter,
    leave(resource, waiter) {
      placesOf(resource).delete(waiter);
    },
    takeNext(resource, waiter) {
      const places = placesOf(resource);
      const line = [...places].sort(inOrder);
      const [first, last] = [line[0], line.at(-1)];
      if (first === undefined || last === undefined) return undefined;
      places.delete(first[0]);
      if (waiter !== undefined) enter(resource, waiter, last[1] + 1);
      return first[0];
    },
  };
}

/** By counter; and where that is the same, by value, which all nodes do alike, in whatever order they are asked. */
function inOrder([a, since]: readonly [string, number], [b, otherSince]: readonly [string, number]): number {
  return since - otherSince || (a < b ? -1 : 1);
}
