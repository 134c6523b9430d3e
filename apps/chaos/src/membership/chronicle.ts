import { monotonicMs } from "@holdfast/testkit/monotonic";
import { startJournal } from "../history/journal.ts";

/** A line of the transcript: something that happened, and the figures since the last line. */
export interface Moment {
  readonly atMs: number;
  readonly what: string;
  /** How many locks had been granted so far. */
  readonly locks: number;
  /** The longest wait of a lock that was granted since the last line, in milliseconds. */
  readonly longestWaitMs: number;
  /** How many errors clients had got so far. */
  readonly errors: number;
  /** How many clients were in each stage, by its name. */
  readonly clients: ReadonlyMap<string, number>;
}

/** A client of a wrong stage, which must be refused, or a client of a right one, which must be served. */
export interface Probe {
  readonly what: string;
  readonly wanted: "refused" | "served";
  /** The error that it got; undefined if it got a lock. */
  readonly error: string | undefined;
}

/** A journal, and the record of the changes. */
export type Chronicle = ReturnType<typeof startChronicle>;

/** Records a run. */
export function startChronicle(clientsByStage: () => ReadonlyMap<string, number>, onMoment: (moment: Moment) => void) {
  let fromMs = Number.NaN;
  const journal = startJournal();
  const moments: Moment[] = [];
  let seen = 0;
  return {
    ...journal,
    moments,
    /** The tries of clients that no node may serve, and whether they were refused. */
    probes: [] as Probe[],
    /** Adds a line to the transcript. */
    note(what: string): void {
      const { granted, errors } = journal;
      const longestWaitMs = granted.slice(seen).reduce((longest, { waitedMs }) => Math.max(longest, waitedMs), 0);
      seen = granted.length;
      if (moments.length === 0) fromMs = monotonicMs();
      const atMs = monotonicMs() - fromMs;
      const moment = { atMs, what, locks: seen, longestWaitMs, errors: errors.length, clients: clientsByStage() };
      moments.push(moment);
      onMoment(moment);
    },
  };
}
