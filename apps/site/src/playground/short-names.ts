import type { TimelineLine, Trace } from "@holdfast/simulation";
import { storageNames, storagesToShow } from "./words.ts";

/** A run whose tokens are counted, and how to say the same in its texts. */
export interface ShortNames {
  /** The trace, with tokens and counters from 1 on. */
  readonly trace: Trace;
  /** Replaces the names of attempts and the tokens in a text of the simulation. */
  readonly inWords: (text: string) => string;
}

/**
 * Counts the tokens and locks of a run from 1, in their order. The simulation's tokens are microseconds, with gaps, and it
 * names a lock by its attempt. Clocks that start behind the counters would make small tokens, too, but then no clock would
 * make up for a counter that a node forgets.
 *
 * @example
 * const { trace, inWords } = shortNames(run.trace);
 * inWords("has lock 2.12 on file, fence 1026918"); // "has lock 2 on file, token 2"
 */
export function shortNames(run: Trace): ShortNames {
  const tokens = [...run.counters.map(({ counter }) => counter), ...run.leases.map(({ fence }) => fence)];
  const sorted = [...new Set([0, ...tokens])].sort((a, b) => a - b);
  const ranks = new Map(sorted.map((token, rank) => [token, rank]));
  const rankOf = (token: number): number => ranks.get(token) ?? token;
  const locks = new Map(run.leases.map(({ attempt }, index) => [attempt, index + 1]));
  const attempts = new Set(run.messages.map(({ attempt }) => attempt));
  const nameOf = (attempt: string): string => {
    const [client, number] = attempt.split(".");
    return locks.has(attempt) ? `lock ${locks.get(attempt)}` : `attempt ${number} of client ${client}`;
  };
  return {
    trace: withTokens(run, rankOf),
    inWords: (text) =>
      text
        .replace(/\bmakes attempts? [\d. to]+/, (part) => part.replace(/\d+\./g, ""))
        .replace(/\b(?:locks? )?(\d+\.\d+)\b(?! ms)/g, (part, attempt) =>
          attempts.has(attempt) ? nameOf(attempt) : part,
        )
        .replace(
          /\b(fence|shown) (\d+)/g,
          (_part, word, token) => `${word === "shown" ? "shown " : ""}token ${rankOf(Number(token))}`,
        ),
  };
}

function withTokens(run: Trace, rankOf: (token: number) => number): Trace {
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

/** Returns what storages say, for those that are drawn, under the names that they have there. */
export function shownLines(lines: readonly TimelineLine[], trace: Trace): TimelineLine[] {
  const kinds = storagesToShow(trace);
  return lines.flatMap((line) => {
    const kind = /^\(([a-z ]+)\) /.exec(line.what)?.[1];
    if (line.who !== "storage" || kind === undefined) return line;
    const shown = kinds.find((each) => each === kind);
    return shown === undefined ? [] : { ...line, who: storageNames[shown], what: line.what.slice(kind.length + 3) };
  });
}
