import type { Database, FencedReply } from "./database.ts";

interface FencedCounter {
  fence: number;
  value: number;
}

/** Makes a database in this process. */
export function memoryDatabase(): Database {
  const counters = new Map<string, number>();
  const fencedCounters = new Map<string, FencedCounter>();

  const touch = (name: string, fence: number, write: (counter: FencedCounter) => void): FencedReply => {
    const counter = fencedCounters.get(name) ?? { fence: 0, value: 0 };
    if (fence < counter.fence) return { accepted: false, newestFence: counter.fence };
    counter.fence = fence;
    write(counter);
    fencedCounters.set(name, counter);
    return { accepted: true, value: counter.value };
  };
  return {
    get: async (name) => counters.get(name) ?? 0,
    set: async (name, value) => void counters.set(name, value),
    getFenced: async (name, fence) => touch(name, fence, () => {}),
    async setFenced(name, fence, value) {
      return touch(name, fence, (counter) => {
        counter.value = value;
      });
    },
    look: async (name) => counters.get(name) ?? fencedCounters.get(name)?.value ?? 0,
  };
}
