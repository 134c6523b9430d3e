import type { Sets, Visit } from "./visit.ts";

/** Elements whose writing was confirmed, and that are not in the sets in the end: another's write undid them. */
export interface Losses {
  readonly plain: readonly string[];
  readonly fenced: readonly string[];
}

/** Compares what clients were told with what the sets hold in the end. */
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
