/** How many entries a portion visits. */
const portion = 1_000;

/** How many series may be in progress. Starting another one ends the oldest. */
const seriesMax = 16;

/** A portion of the keys of a map, and the cursor of the next portion, or undefined at the end. */
export interface Portion {
  readonly keys: readonly string[];
  readonly cursor: string | undefined;
}

/**
 * Returns a function that returns the next keys of the series with a cursor, or without one the first keys of a new
 * series. An iterator of a map visits each entry that stays, however the map changes meanwhile.
 *
 * @throws {RangeError} if no series in progress has this cursor
 */
export function createScan(map: ReadonlyMap<string, unknown>): (cursor: string | undefined) => Portion {
  const series = new Map<string, MapIterator<string>>();
  let started = 0;
  return (given) => {
    const rest = given === undefined ? map.keys() : series.get(given);
    if (rest === undefined) throw new RangeError("no scan in progress has this cursor");
    const cursor = given ?? `scan-${++started}`;
    series.delete(cursor);
    const keys: string[] = [];
    while (keys.length < portion) {
      const { value: key } = rest.next();
      if (key === undefined) return { keys, cursor: undefined };
      keys.push(key);
    }
    series.set(cursor, rest);
    const [oldest] = series.keys();
    if (series.size > seriesMax && oldest !== undefined) series.delete(oldest);
    return { keys, cursor };
  };
}
