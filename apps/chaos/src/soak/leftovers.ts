/** What a process leaves behind. */
import { setTimeout as sleep } from "node:timers/promises";
import { collectGarbage } from "@holdfast/app-kit/garbage";

/** The results of a part of the run. */
export interface Findings {
  /** A summary for the reader. */
  readonly lines: readonly string[];
  /** The problems found. */
  readonly problems: readonly string[];
}

/** A problem that was found several times, with the first of them; none if it was never found. */
export function problem(what: string, found: readonly string[]): string[] {
  return found.length > 0 ? [`${what}: ${[...new Set(found)].slice(0, 10).join(", ")}`] : [];
}

/** How much a heap may grow, in MB: room for code that is compiled late, and for the caches of the clients. */
export const growthMaxMb = 3;

const patienceMs = 5_000;

/** Returns the heap in use after garbage collection, in MB. */
export async function heapMb(): Promise<number> {
  for (let pass = 0; pass < 4; pass++) {
    collectGarbage();
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
