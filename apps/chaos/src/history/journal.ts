import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { ClientError, ClientMessage } from "../client/messages.ts";
import type { Band, Grant, Visit } from "./visit.ts";

/** How long a message of a client may be under way, in milliseconds. Those that a kill overtakes never arrive. */
const underwayMs = 50;

/** How long after a pause a client may notice that its lock was lost, in milliseconds. */
const noticeMs = 2_000;

/** Everything that clients report, and the faults that strike meanwhile. */
export type Journal = ReturnType<typeof startJournal>;

/** Starts an empty journal. */
export function startJournal() {
  const granted: Grant[] = [];
  const visits: Visit[] = [];
  /** The errors that clients got, other than those of clients that had just been paused, and may have lost their locks. */
  const errors: ClientError[] = [];
  /** The faults of servers and clients. */
  const bands: Band[] = [];
  /** The locks that are held, by client and resource, and when the client began to release them. */
  const held = new Map<string, { readonly lock: Grant; endMs: number }>();
  const keyOf = ({ client, resource }: { client: string; resource: string }): string => `${client} ${resource}`;
  const hear = (message: ClientMessage): void => {
    if (message.kind === "granted") {
      granted.push(message.grant);
      held.set(keyOf(message.grant), { lock: message.grant, endMs: Number.POSITIVE_INFINITY });
    } else if (message.kind === "releasing") {
      const holding = held.get(keyOf(message));
      if (holding) holding.endMs = message.atMs;
    } else if (message.kind === "visited") {
      visits.push(message.visit);
      held.delete(keyOf(message.visit));
    } else if (message.kind === "failed") {
      if (!wasPaused(message, bands)) errors.push(message);
    } else if (message.kind === "killed") {
      for (const [key, { lock, endMs }] of held) {
        if (lock.client !== message.client) continue;
        held.delete(key);
        visits.push(abandoned(lock, Math.min(message.atMs, endMs)));
      }
    }
  };
  /** Records a fault that begins now. */
  const begin = (lane: string, label: string): Band => {
    const band = { lane, label, fromMs: monotonicMs(), toMs: Number.POSITIVE_INFINITY };
    bands.push(band);
    return band;
  };
  return {
    ...{ granted, visits, errors, bands, hear, begin },
    /** Records a fault while it lasts. */
    async during<T>(lane: string, label: string, fault: () => Promise<T> | T): Promise<T> {
      const band = begin(lane, label);
      try {
        return await fault();
      } finally {
        band.toMs = monotonicMs();
      }
    },
  };
}

function wasPaused({ client, atMs }: ClientError, bands: readonly Band[]): boolean {
  return bands.some(({ lane, fromMs, toMs }) => lane === client && atMs >= fromMs && atMs <= toMs + noticeMs);
}

/** The visit of a client that was killed during it: it held its lock until then unless it was releasing it. */
function abandoned(lock: Grant, untilMs: number): Visit {
  const heldUntilMs = Math.max(lock.grantedAtMs, untilMs - underwayMs);
  return { ...lock, heldUntilMs, end: "lost", wroteAtMs: null, element: "", plain: "skipped", fenced: "skipped" };
}
