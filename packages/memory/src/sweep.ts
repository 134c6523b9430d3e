/**
 * Makes a function to call for each entry that a map gains. A call looks at two entries, round and round, and deletes
 * those that have ended, so that the map cannot only grow.
 */
export function createSweep<Value>(map: Map<string, Value>, hasEnded: (value: Value) => boolean): () => void {
  let rest = map.entries(); // goes on where it stood, also after changes of the map
  return () => {
    for (let looks = 0; looks < 2; looks++) {
      const { value: entry } = rest.next();
      if (entry === undefined) {
        rest = map.entries();
        return;
      }
      if (hasEnded(entry[1])) map.delete(entry[0]);
    }
  };
}
