/** How many entries a portion visits. */
const portionSize = 1_000;

/** An entry of a map that gives each new entry the next number, so that the numbers ascend in the order of the map. */
export interface Numbered {
  readonly number: number;
}

/** The next keys of a map, and the cursor of the portion after them, or undefined at the end. */
export interface Portion {
  readonly keys: readonly string[];
  readonly cursor: string | undefined;
}

/**
 * Returns the next keys after a cursor, or the first ones without one. A cursor holds the number of the entry that comes
 * next, and the end of the series, so that entries that are added meanwhile do not prolong it. It needs no state: a
 * series that is abandoned costs nothing, and a portion can be read again.
 *
 * @param id distinguishes the map, so that the cursor of another one is rejected
 * @param end the number of the next new entry
 * @throws {RangeError} if the cursor is none of this map
 */
export function portionOf(
  map: ReadonlyMap<string, Numbered>,
  id: string,
  end: number,
  cursor: string | undefined,
): Portion {
  const [next, last] = cursor === undefined ? [0, end] : positionOf(id, cursor);
  const keys: string[] = [];
  for (const [key, { number }] of map) {
    if (number < next) continue;
    if (number >= last) break;
    if (keys.length === portionSize) return { keys, cursor: `${id}:${number}:${last}` };
    keys.push(key);
  }
  return { keys, cursor: undefined };
}

/** Returns a cursor at which {@link portionOf} begins. */
export function firstCursor(id: string, end: number): string {
  return `${id}:0:${end}`;
}

function positionOf(id: string, cursor: unknown): readonly [next: number, end: number] {
  const parts = typeof cursor === "string" ? /^(.+):(\d+):(\d+)$/.exec(cursor) : null;
  if (parts === null || parts[1] !== id) throw new RangeError("this node has not made the cursor of the scan");
  return [Number(parts[2]), Number(parts[3])];
}
