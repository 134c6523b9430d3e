import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { Band } from "../history/visit.ts";
import type { Granted, MemberError, MemberEvents, MemberVisit } from "./messages.ts";

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
  /** How many clients were of each epoch. */
  readonly clients: ReadonlyMap<number, number>;
}

/** Everything that a run has recorded. */
export interface Chronicle {
  /** When the first line of the transcript was added. */
  readonly fromMs: number;
  readonly granted: readonly Granted[];
  readonly visits: readonly MemberVisit[];
  /** The errors that clients got, other than those of clients that had just been paused, and may have lost their locks. */
  readonly errors: readonly MemberError[];
  /** The faults of servers and clients. */
  readonly bands: readonly Band[];
  /** The times during which servers held locks, and the steps of the changes, in the lane {@link operatorLane}. */
  readonly duties: readonly Band[];
  readonly moments: readonly Moment[];
  /** The tries of clients that no node may serve, and whether they were refused. */
  readonly probes: readonly Probe[];
}

/** The lane of the steps of the changes. */
export const operatorLane = "operator";

/** A client of a wrong stage, which must be refused, or a client of a right one, which must be served. */
export interface Probe {
  readonly what: string;
  readonly wanted: "refused" | "served";
  /** The error that it got; undefined if it got a lock. */
  readonly error: string | undefined;
}

/** How long a message of a client may be under way, in milliseconds. Those that a kill overtakes never arrive. */
const underwayMs = 50;

/** How long after a pause a client may notice that its lock was lost, in milliseconds. */
const noticeMs = 2_000;

/** Records a run. */
export function startChronicle(clientsByEpoch: () => ReadonlyMap<number, number>, onMoment: (moment: Moment) => void) {
  let fromMs = Number.NaN;
  const granted: Granted[] = [];
  const visits: MemberVisit[] = [];
  const errors: MemberError[] = [];
  const bands: Band[] = [];
  const duties: Band[] = [];
  const moments: Moment[] = [];
  const probes: Probe[] = [];
  /** The locks that are held, by client and resource. */
  const held = new Map<string, Granted>();
  /** When a client began to release a lock. */
  const ends = new WeakMap<Granted, number>();
  let seen = 0;
  const keyOf = ({ client, resource }: { client: string; resource: string }): string => `${client} ${resource}`;
  const events: MemberEvents = {
    granted(lock) {
      granted.push(lock);
      held.set(keyOf(lock), lock);
    },
    releasing(client, resource, atMs) {
      const lock = held.get(keyOf({ client, resource }));
      if (lock !== undefined) ends.set(lock, atMs);
    },
    visited(visit) {
      visits.push(visit);
      held.delete(keyOf(visit));
    },
    failed(error) {
      if (!wasPaused(error, bands)) errors.push(error);
    },
  };
  return {
    chronicle: {
      ...{ granted, visits, errors, bands, duties, moments, probes },
      get fromMs() {
        return fromMs;
      },
    } satisfies Chronicle,
    events,
    /** Records that a client was killed, which held its locks until then unless it was releasing them. */
    killed(client: string, atMs: number): void {
      for (const [key, lock] of held) {
        if (lock.client !== client) continue;
        held.delete(key);
        visits.push(abandoned(lock, Math.min(atMs, ends.get(lock) ?? atMs)));
      }
    },
    /** Records a fault while it lasts. */
    during: <T>(lane: string, label: string, fault: () => Promise<T>): Promise<T> => during(bands, lane, label, fault),
    /** Records a step of a change while it lasts. */
    duringStep: <T>(label: string, step: () => Promise<T>): Promise<T> => during(duties, operatorLane, label, step),
    /** Records that these servers hold locks from now on, and no others. */
    onDuty: (servers: readonly string[]): void => changeDuties(duties, servers),
    /** Adds a line to the transcript. */
    note(what: string): void {
      const longestWaitMs = granted.slice(seen).reduce((longest, { waitedMs }) => Math.max(longest, waitedMs), 0);
      seen = granted.length;
      if (moments.length === 0) fromMs = monotonicMs();
      const atMs = monotonicMs() - fromMs;
      const clients = clientsByEpoch();
      const moment = { atMs, what, locks: seen, longestWaitMs, errors: errors.length, clients };
      moments.push(moment);
      onMoment(moment);
    },
    probed(probe: Probe): void {
      probes.push(probe);
    },
  };
}

/** Records a run while it goes on. */
export type Chronicler = ReturnType<typeof startChronicle>;

async function during<T>(bands: Band[], lane: string, label: string, act: () => Promise<T>): Promise<T> {
  const band: Band = { lane, label, fromMs: monotonicMs(), toMs: Number.POSITIVE_INFINITY };
  bands.push(band);
  try {
    return await act();
  } finally {
    band.toMs = monotonicMs();
  }
}

/** Ends the duties of other servers, and begins those of these servers. */
function changeDuties(duties: Band[], servers: readonly string[]): void {
  const nowMs = monotonicMs();
  const open = duties.filter(({ lane, toMs }) => lane !== operatorLane && toMs === Number.POSITIVE_INFINITY);
  for (const band of open) if (!servers.includes(band.lane)) band.toMs = nowMs;
  for (const lane of servers) {
    if (open.some((band) => band.lane === lane)) continue;
    duties.push({ lane, label: "", fromMs: nowMs, toMs: Number.POSITIVE_INFINITY });
  }
}

function wasPaused({ client, atMs }: MemberError, bands: readonly Band[]): boolean {
  return bands.some(({ lane, fromMs, toMs }) => lane === client && atMs >= fromMs && atMs <= toMs + noticeMs);
}

/** The visit of a client that was killed during it. */
function abandoned({ waitedMs: _, ...lock }: Granted, untilMs: number): MemberVisit {
  const heldUntilMs = Math.max(lock.grantedAtMs, untilMs - underwayMs);
  return { ...lock, heldUntilMs, end: "lost", wroteAtMs: null, element: "", plain: "skipped", fenced: "skipped" };
}
