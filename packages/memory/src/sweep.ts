/**
 * Returns a function to call whenever a map gains an entry. Each call visits the next two entries, in a cycle, and
 * deletes those that have ended, so that the map does not grow without bound.
 */
export function createSweep<Value>(map: Map<string, Value>, hasEnded: (value: Value) => boolean): () => void {
  let rest = map.entries(); // a Map iterator stays valid when the map changes
  return () => {
    for (let visits = 0; visits < 2; visits++) {
      const { value: entry } = rest.next();
      if (entry === undefined) {
        rest = map.entries();
        return;
      }
      if (hasEnded(entry[1])) map.delete(entry[0]);
    }
  };
}
