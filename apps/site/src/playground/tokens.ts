import type { Trace } from "@holdfast/simulation";

/**
 * Returns a trace whose tokens and counters are counted from 1, in their order. The simulation's tokens are microseconds,
 * with gaps. Clocks that start behind the counters would make small tokens, too, but then no clock would make up for a
 * counter that a node forgets.
 */
export function withCountedTokens(run: Trace): Trace {
  const tokens = [...run.counters.map(({ counter }) => counter), ...run.leases.map(({ fence }) => fence)];
  const sorted = [...new Set([0, ...tokens])].sort((a, b) => a - b);
  const ranks = new Map(sorted.map((token, rank) => [token, rank]));
  const rankOf = (token: number): number => ranks.get(token) ?? token;
  const withFence = <T extends { readonly fence: number }>(item: T): T => ({ ...item, fence: rankOf(item.fence) });
  return {
    ...run,
    claims: run.claims.map(withFence),
    leases: run.leases.map(withFence),
    counters: run.counters.map((each) => ({ ...each, counter: rankOf(each.counter) })),
    accesses: run.accesses.map((access) => ({
      ...access,
      fence: access.fence && rankOf(access.fence),
      results: access.results && mapValues(access.results, (each) => ({ ...each, highest: rankOf(each.highest) })),
    })),
  };
}

function mapValues<K extends string, T>(values: Readonly<Record<K, T>>, change: (value: T) => T): Record<K, T> {
  const entries = Object.entries(values) as [K, T][];
  return Object.fromEntries(entries.map(([key, value]) => [key, change(value)])) as Record<K, T>;
}
