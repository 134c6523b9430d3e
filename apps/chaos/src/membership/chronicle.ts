import { monotonicMs } from "@holdfast/testkit/monotonic";
import { startJournal } from "../history/journal.ts";

/** A client of a wrong stage, which must be refused, or a client of a right one, which must be served. */
export interface Probe {
  readonly what: string;
  readonly wanted: "refused" | "served";
  /** The error that it got; undefined if it got a lock. */
  readonly error: string | undefined;
}

/** A journal, and the record of the changes. */
export type Chronicle = ReturnType<typeof startChronicle>;

/** The head of the columns of a transcript. */
export const columns = "    time     locks  longest wait  errors  clients";

/** Records a run. Prints a line for each step. */
export function startChronicle(stagesOfClients: () => readonly string[], print: (line: string) => void) {
  let fromMs = Number.NaN;
  const journal = startJournal();
  const lines: string[] = [];
  let seen = 0;
  return {
    ...journal,
    /** The transcript. */
    lines,
    /** The tries of clients that no node may serve, and whether they were refused. */
    probes: [] as Probe[],
    /** Adds a line to the transcript: what happened, and the figures since the last line. */
    note(what: string): void {
      const { granted, errors } = journal;
      const longestWaitMs = granted.slice(seen).reduce((longest, { waitedMs }) => Math.max(longest, waitedMs), 0);
      seen = granted.length;
      if (lines.length === 0) fromMs = monotonicMs();
      const figures = [
        `${((monotonicMs() - fromMs) / 1_000).toFixed(1)} s`.padStart(8),
        String(seen).padStart(10),
        `${(longestWaitMs / 1_000).toFixed(1)} s`.padStart(14),
        String(errors.length).padStart(8),
      ].join("");
      const line = `${figures}  ${countsOf(stagesOfClients()).padEnd(52)}  ${what}`;
      lines.push(line);
      print(line);
    },
  };
}

/** Lists how often there is each of these, such as `2 of generation 0, 3 of generation 1`. */
export function countsOf(stages: readonly string[]): string {
  return [...countBy(stages)]
    .sort()
    .map(([stage, count]) => `${count} of ${stage}`)
    .join(", ");
}

/** Counts how often there is each of these values. */
export function countBy(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}
