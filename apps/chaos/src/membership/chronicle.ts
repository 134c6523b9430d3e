import { monotonicMs } from "@holdfast/testkit/monotonic";
import { type Journal, startJournal } from "../history/journal.ts";
import type { Band } from "../history/visit.ts";

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

/** The lane of the steps of the changes. */
export const operatorLane = "operator";

/** A journal, and the record of the changes. */
export interface Chronicle extends Journal {
  /** When the first line of the transcript was added. */
  readonly fromMs: number;
  /** The times during which servers held locks, and the steps of the changes, in the lane {@link operatorLane}. */
  readonly duties: readonly Band[];
  readonly moments: readonly Moment[];
  /** The tries of clients that no node may serve, and whether they were refused. */
  readonly probes: Probe[];
  /** Records a step of a change while it lasts. */
  duringStep<T>(label: string, step: () => Promise<T>): Promise<T>;
  /** Records that these servers hold locks from now on, and no others. */
  onDuty(servers: readonly string[]): void;
  /** Adds a line to the transcript. */
  note(what: string): void;
}

/** Records a run. */
export function startChronicle(
  clientsByStage: () => ReadonlyMap<string, number>,
  onMoment: (moment: Moment) => void,
): Chronicle {
  let fromMs = Number.NaN;
  const journal = startJournal();
  const duties = startJournal();
  const moments: Moment[] = [];
  let seen = 0;
  return {
    ...{ ...journal, duties: duties.bands, moments, probes: [] },
    get fromMs() {
      return fromMs;
    },
    duringStep: (label, step) => duties.during(operatorLane, label, step),
    onDuty(servers) {
      const open = duties.bands.filter(({ lane, toMs }) => lane !== operatorLane && toMs === Number.POSITIVE_INFINITY);
      for (const band of open) if (!servers.includes(band.lane)) band.toMs = monotonicMs();
      for (const lane of servers) if (!open.some((band) => band.lane === lane)) duties.begin(lane, "");
    },
    note(what) {
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
