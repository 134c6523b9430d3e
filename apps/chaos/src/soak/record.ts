import { brokenPromises, overlapsOf, tokenFaultsOf } from "../history/checks.ts";
import { hows, type SoakLock } from "./program.ts";
import type { Work } from "./worker.ts";

/** The locks that are counted. */
const kinds: Readonly<Record<string, (lock: SoakLock) => boolean>> = {
  ...Object.fromEntries(hows.map((how) => [`by ${how}`, (lock: SoakLock) => lock.how === how])),
  "of several resources": ({ resources }) => resources.length > 1,
  nested: ({ isNested }) => isNested,
  extended: ({ isExtended }) => isExtended,
};

/** Counts the locks of all programs, and checks those of each round. */
export function createRecord() {
  const counts = new Map<string, number>();
  const count = (what: string, times: number): void => {
    counts.set(what, (counts.get(what) ?? 0) + times);
  };
  /** The last lock of the rounds before, by resource. */
  const last = new Map<string, SoakLock>();
  let sum = 0;
  let longestWaitMs = 0;
  return {
    /** Adds a round, and returns what it violated. */
    add(works: readonly Work[]): string[] {
      const locks = works.flatMap((work) => work.locks);
      sum += locks.length;
      for (const [kind, isOne] of Object.entries(kinds)) count(kind, locks.filter(isOne).length);
      for (const { gaveUp } of works) count("given up", gaveUp);
      for (const { how, attemptAtMs, grantedAtMs } of locks)
        if (how === "acquire" || how === "using") longestWaitMs = Math.max(longestWaitMs, grantedAtMs - attemptAtMs);
      const lost = locks.filter(({ end }) => end === "lost");
      return [
        ...brokenPromises(checksByResource(locks, last), true),
        ...lost.map(({ client, resources }) => `${client} lost its lock on ${resources}`).slice(0, 10),
        ...works.flatMap(({ failures }) => failures.slice(0, 10)),
      ];
    },
    lines: (): string[] => [
      `locks       ${sum.toLocaleString("en")}; the longest wait without a limit took ${(longestWaitMs / 1_000).toFixed(2)} s`,
      `            ${[...counts].map(([what, times]) => `${times} ${what}`).join(", ")}`,
    ],
    neverDone: (): string[] => [...counts].flatMap(([what, times]) => (times === 0 ? [`no lock was ${what}`] : [])),
  };
}

/** Checks the locks of a round, together with the last one before it on each resource. */
function checksByResource(locks: readonly SoakLock[], last: Map<string, SoakLock>) {
  const byResource = new Map([...last].map(([resource, lock]) => [resource, [lock]]));
  for (const lock of locks.toSorted((a, b) => a.grantedAtMs - b.grantedAtMs)) {
    for (const resource of lock.resources) {
      const list = byResource.get(resource) ?? [];
      byResource.set(resource, list);
      list.push(lock);
      last.set(resource, lock);
    }
  }
  return [...byResource.values()].map((list) => ({
    overlaps: overlapsOf(list),
    // Without faults, tokens grow in the order of the grants.
    tokenFaults: tokenFaultsOf(list.map((lock) => ({ ...lock, attemptAtMs: lock.grantedAtMs }))),
  }));
}
