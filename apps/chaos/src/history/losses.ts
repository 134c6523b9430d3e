import type { Sets, Visit } from "./visit.ts";

/** Confirmed elements that are missing in the sets at the end, because another client's write undid them. */
export interface Losses {
  readonly plain: readonly string[];
  readonly fenced: readonly string[];
}

/** Compares the confirmed writes with the sets at the end. */
export function lossesOf(visits: readonly Visit[], sets: Sets): Losses {
  const missing = (from: readonly string[], wrote: (visit: Visit) => boolean): string[] => {
    const present = new Set(from);
    return visits.filter((visit) => wrote(visit) && !present.has(visit.element)).map(({ element }) => element);
  };
  return {
    plain: missing(sets.plain, ({ plain }) => plain !== "skipped"),
    fenced: missing(sets.fenced, ({ fenced }) => fenced === "written"),
  };
}
