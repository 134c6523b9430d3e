import type { History, Visit } from "../src/history/visit.ts";

/** A visit between these times, with a unique token and element. */
export function visit(client: string, grantedAtMs: number, heldUntilMs: number, more: Partial<Visit> = {}): Visit {
  return {
    ...{ client, resource: "stock-1", stage: "generation 0" },
    fence: 1_000 + grantedAtMs,
    ...{ attemptAtMs: grantedAtMs - 1, waitedMs: 1 },
    grantedAtMs,
    heldUntilMs,
    end: "released",
    wroteAtMs: heldUntilMs,
    element: `${client}.${grantedAtMs}`,
    plain: "written",
    fenced: "written",
    ...more,
  };
}

/** A history of these visits without lost writes. */
export function historyOf(visits: readonly Visit[], more: Partial<History> = {}): History {
  const elements = visits.map(({ element }) => element);
  const sets = { plain: elements, fenced: elements };
  return { fromMs: 0, toMs: 1_000, visits, bands: [], sets, stuck: [], ...more };
}
