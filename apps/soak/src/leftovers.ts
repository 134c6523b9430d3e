import { setTimeout as sleep } from "node:timers/promises";

const patienceMs = 5_000;

/** Returns the heap in use after garbage collection, in MB. */
export async function heapMb(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error("the heap cannot be measured without node --expose-gc");
  for (let pass = 0; pass < 4; pass++) {
    globalThis.gc();
    await sleep(10); // for memory that a callback frees
  }
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** Waits until no new resource keeps the process alive, and returns those that remain after a time limit. */
export async function leftSince(before: readonly string[]): Promise<string[]> {
  for (const endMs = performance.now() + patienceMs; ; ) {
    const left = process.getActiveResourcesInfo();
    for (const kind of before) {
      const index = left.indexOf(kind);
      if (index !== -1) left.splice(index, 1);
    }
    if (left.length === 0 || performance.now() > endMs) return left;
    await sleep(20);
  }
}
