import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { believe } from "@holdfast/app-kit/visits";
import { type Lock, type LockNode, type LockOptions, Redlock } from "@holdfast/core";
import { StaleFenceError } from "@holdfast/ioredis";
import { monotonicMs } from "@holdfast/testkit/monotonic";
import type { Database } from "./database.ts";
import { ledger, type Resource, resources, type Setup } from "./options.ts";
import type { Visit } from "./run.ts";

/** The part of a held lock that workers use. */
type HeldLock = Pick<Lock, "fence" | "signal" | "remainingMs">;
/** Runs a routine under a lock. */
type Using = (name: string, options: LockOptions, routine: (lock: HeldLock) => Promise<void>) => Promise<void>;

/** The surroundings of a worker. */
export interface Workplace {
  readonly worker: string;
  readonly using: Using;
  readonly database: Database;
  readonly tell: (visit: Visit) => void;
  /** Aborts when the worker must stop. */
  readonly stop: AbortSignal;
}

/** Locks for real, or with `--break` locks nothing and gives every caller the same token. */
export function usingOf({ locked, redlock: options }: Setup, nodes: readonly LockNode[]): Using {
  const redlock = new Redlock(nodes, options);
  if (locked) return (name, lockOptions, routine) => redlock.using(name, lockOptions, routine);
  return (_name, _options, routine) =>
    routine({ fence: 0, signal: new AbortController().signal, remainingMs: () => Infinity });
}

/** What a worker does, in this process or in one of its own. */
export type Worker = ReturnType<typeof createWorker>;

/** Makes a worker. */
export function createWorker(parts: Omit<Workplace, "stop">, ttlMs: number) {
  const [stop, woken] = [new AbortController(), new AbortController()];
  const place = { ...parts, stop: stop.signal };
  let working: Promise<void> = Promise.resolve();
  return {
    /** Visits resources until the worker is told to finish. */
    contend(): Promise<void> {
      working = contend(place, ttlMs);
      return working;
    },
    /** Takes the fenced lock, and resolves when the worker is paused right before its write. */
    approachWrite(options?: LockOptions): Promise<void> {
      return new Promise((resolve, reject) => {
        working = oversleep(place, resolve, woken.signal, options);
        working.then(resolve, reject);
      });
    },
    /** Writes after the pause. */
    write(): Promise<void> {
      woken.abort();
      return working;
    },
    /** Finishes the visit in progress. */
    finish(): Promise<void> {
      stop.abort(Object.assign(new Error("told to finish"), { code: "FINISH" }));
      woken.abort();
      return working;
    },
  };
}

/** The longest break between two visits, in milliseconds. */
const idleMaxMs = 20;

/** Visits random resources, one after another, until `stop` aborts. */
async function contend(place: Workplace, ttlMs: number): Promise<void> {
  const { stop } = place;
  while (!stop.aborted) {
    const resource = pick(Math.random());
    const { min, max } = Math.random() < resource.longShare ? { min: 1.1 * ttlMs, max: 1.3 * ttlMs } : resource.dwellMs;
    await visit(place, resource, async ({ signal }) => {
      await sleepUnless(AbortSignal.any([stop, signal]), min + Math.random() * (max - min));
      // The last check before the write. Only a pause right after it can still do harm.
      signal.throwIfAborted();
    });
    await sleepUnless(stop, Math.random() * idleMaxMs);
  }
}

/** Picks a resource by a number from 0 to below 1, in proportion to the weights. */
export function pick(share: number): Resource {
  const tickets = resources.flatMap((resource) => Array<Resource>(resource.weight).fill(resource));
  return tickets[Math.floor(share * tickets.length)] as Resource;
}

/** Sleeps for that time, or until the signal aborts. Never rejects. */
async function sleepUnless(signal: AbortSignal, ms: number): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

/**
 * Visits the fenced resource, checks the lock as it should, and is paused between that check and its write. No lock can
 * prevent the late write (Kleppmann, "How to do distributed locking"); only the database can, by the token.
 */
async function oversleep(
  place: Workplace,
  onPause: () => void,
  woken: AbortSignal,
  options?: LockOptions,
): Promise<void> {
  let isPaused = false;
  const dwell = async ({ signal }: HeldLock): Promise<void> => {
    signal.throwIfAborted();
    isPaused = true;
    onPause();
    if (!woken.aborted) await once(woken, "abort");
  };
  // On a busy machine, the lock may be lost before the pause.
  while (!isPaused && !place.stop.aborted) await visit(place, ledger, dwell, { waitTimeoutMs: Infinity, ...options });
}

/** The failures that a distributed system must expect, and the end of the run. */
const expected = ["FINISH", "LOCK_LOST", "WAIT_TIMEOUT", "QUORUM_UNREACHABLE"];

/**
 * Waits for the lock, and increments the counter. Reports the wait, the grant, and the end.
 *
 * @param dwell the work between read and write
 */
export async function visit(
  place: Workplace,
  resource: Resource,
  dwell: (lock: HeldLock) => Promise<void>,
  options?: LockOptions,
): Promise<void> {
  const { worker, using, stop, tell } = place;
  const visit: Visit = {
    ...{ worker, resource: resource.name, calledAtMs: monotonicMs(), fence: 0, write: "none" },
    ...{ enteredAtMs: Infinity, validUntilMs: Infinity, readAtMs: Infinity, wroteAtMs: Infinity, leftAtMs: Infinity },
  };
  tell(visit);
  try {
    await using(resource.name, { label: worker, signal: stop, ...options }, async (lock) => {
      const belief = believe(lock);
      const look = (): void => {
        visit.validUntilMs = belief.validUntilMs();
      };
      Object.assign(visit, { fence: lock.fence, enteredAtMs: belief.grantedAtMs });
      look();
      tell(visit);
      try {
        await increment(place.database, resource, visit, () => dwell(lock).then(look));
      } finally {
        visit.leftAtMs = monotonicMs();
        look();
      }
    });
  } catch (error) {
    const { code, message } = error as { readonly code: string; readonly message: string };
    if (!expected.includes(code)) throw error;
    visit.failure = { code, message };
  } finally {
    visit.leftAtMs = Math.min(visit.leftAtMs, monotonicMs());
    tell(visit);
  }
}

/** Reads, works, and writes. If two workers ever did that at the same time, an update would be lost. */
async function increment(
  database: Database,
  { name, fenced }: Resource,
  visit: Visit,
  work: () => Promise<void>,
): Promise<void> {
  const token = fenced ? visit.fence : undefined;
  try {
    const value = await database.read(name, token);
    visit.readAtMs = monotonicMs();
    await work();
    visit.wroteAtMs = monotonicMs();
    await database.write(name, value + 1, token);
    visit.write = "accepted";
  } catch (error) {
    if (!(error instanceof StaleFenceError)) throw error;
    Object.assign(visit, { write: "refused", newestFence: error.newestFence });
  }
}
