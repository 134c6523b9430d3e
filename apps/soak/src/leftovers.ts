import { setTimeout as sleep } from "node:timers/promises";

const patienceMs = 5_000;

/** How much memory is in use, in MB, once all that can be is collected. */
export async function heapMb(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error("needs node --expose-gc");
  for (let pass = 0; pass < 4; pass++) {
    globalThis.gc();
    await sleep(10); // for what is only freed by a callback
  }
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** What keeps the process alive and did not before; empty as soon as that is so. */
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
