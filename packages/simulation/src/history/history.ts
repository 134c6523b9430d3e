/** What happened in a run, as far as the checkers judge it. Moments are true time in milliseconds. */
export interface History {
  /** All locks that clients were given, in the order in which they learnt of them. */
  readonly locks: readonly LockRecord[];
  /** Writes to the storage that were accepted although their writer had not read what they replaced. */
  readonly lostUpdates: readonly LostUpdate[];
  /** All calls for a lock, in the order in which they were made. */
  readonly waiters: readonly WaiterRecord[];
  /** All attempts to lock, in the order in which they began. */
  readonly attempts: readonly AttemptRecord[];
  /** Claims that were won, and were no locks: a waiter for several resources may collect them one by one. */
  readonly collections: readonly CollectionRecord[];
  /** What each client asked of each node. */
  readonly traffic: readonly TrafficRecord[];
  /** Whether the scenario has no faults at all. */
  readonly isFaultless: boolean;
  /** How the work of all clients ended; undefined if nobody knows when the last fault is over. */
  readonly completion: Completion | undefined;
  /** Operations that did not end as they may. */
  readonly misbehaviour: readonly Incident[];
  /** What was left behind when all was over. */
  readonly leaks: readonly Incident[];
  /** How it went when no fault was left. */
  readonly recovery: Recovery | undefined;
}

/** One lock, from the attempt that won it until the client knew it was over. */
export interface LockRecord {
  /** The attempt that won it, as `client.number`: the owner by a name that every run of the seed gives it. */
  readonly attempt: string;
  /** The client that has it. */
  readonly client: string;
  /** What is locked. */
  readonly resources: readonly string[];
  /** Its token. */
  readonly fence: number;
  /** The attempt whose lock it took over from another call of the same process, if it was handed over. */
  readonly takenOverFrom?: string | undefined;
  /**
   * For how long locks had been handed over, one after another, when it was asked for, in milliseconds on the clock of its
   * process without its pauses: since the first of them was granted.
   */
  readonly handingOverMs?: number | undefined;
  /** When the attempt's first request was sent. */
  readonly startedAtMs: number;
  /** When the client was given the lock. */
  readonly grantedAtMs: number;
  /** When it was released or lost; undefined if it never was, as its client died. */
  readonly endedAtMs: number | undefined;
  /** When the client first and last saw the lock valid, or acted on having seen it; undefined if it never did. */
  readonly seenValid: Sighting | undefined;
}

/** From when to when a client believed something. */
export interface Sighting {
  /** When it first did. */
  readonly fromMs: number;
  /** When it last did. */
  readonly untilMs: number;
}

/**
 * One call for a lock, until it has the lock or an error. How long something takes is measured on the clock of its process
 * without its pauses.
 */
export interface WaiterRecord {
  /** The client that calls. */
  readonly client: string;
  /** What it wants to lock, sorted. */
  readonly resources: readonly string[];
  /** When it called. */
  readonly calledAtMs: number;
  /** When it got its lock or its error; undefined if it never did. */
  readonly endedAtMs: number | undefined;
  /** The attempt that won it a lock; undefined if none did. */
  readonly attempt: string | undefined;
  /** How long it is ready to wait, in milliseconds: until its time is up, or its caller gives up. 0 for `tryAcquire`. */
  readonly timeoutMs: number;
  /** Whether enough nodes notify its process of releases. If not, only its back-off tells it when to try. */
  readonly isNotified: boolean;
  /** How long it waited, in milliseconds. */
  readonly waitedMs: number;
  /** How long one attempt may take, in milliseconds. */
  readonly attemptMs: number;
  /** How long the delay between two attempts may be, in milliseconds: one back-off, whatever becomes of notifications. */
  readonly backOffMs: number;
  /** The longest time for which nothing was tried for it although no call of its process was before it, in milliseconds. */
  readonly idleMs: number;
  /**
   * The longest time for which there was no lock on any of its resources, here or elsewhere, in milliseconds. Counts from
   * when all faults are over.
   */
  readonly freeMs: number;
}

/** One attempt to lock, under an owner of its own. */
export interface AttemptRecord {
  /** Its name, as `client.number`. */
  readonly name: string;
  /** The client that makes it. */
  readonly client: string;
  /** What it tries to lock. */
  readonly resources: readonly string[];
  /** When its first request was sent. */
  readonly startedAtMs: number;
  /** When its outcome was certain; undefined if it never was. */
  readonly settledAtMs: number | undefined;
}

/** A claim that was won, and that no caller got as a lock. */
export interface CollectionRecord {
  /** The attempt that won it. */
  readonly attempt: string;
  /** The client that made it. */
  readonly client: string;
  /** What was claimed. */
  readonly resources: readonly string[];
  /** When it was released, or taken over by the next attempt. */
  readonly endedAtMs: number;
  /** For how long it, and what it had taken over, kept others away, in milliseconds of the process without its pauses. */
  readonly keptMs: number;
  /** How long one attempt to get the rest may take, in milliseconds. */
  readonly attemptMs: number;
}

/** What one client asked of one node. */
export interface TrafficRecord {
  /** The client. */
  readonly client: string;
  /** The node. */
  readonly node: string;
  /** How many requests the client sent, other than those to extend a lock. */
  readonly requests: number;
  /** How many requests, of any kind, were in flight at the same time at the most: neither answered nor given up. */
  readonly mostInFlight: number;
  /** How many requests were in flight when all was over. */
  readonly inFlight: number;
}

/** How all work ended, with or without a lock. */
export interface Completion {
  /** When all faults, and what they had left behind, were over. */
  readonly fromMs: number;
  /** When the last operation ended; undefined if one never did. */
  readonly endedAtMs: number | undefined;
  /** How long all operations take one after another, and each after the longest delay, in milliseconds. */
  readonly workMs: number;
  /** How many calls for a lock there are. */
  readonly calls: number;
}

/** How a kind of storage treats fencing tokens. */
export type StorageKind = "checks all" | "checks writes" | "checks nothing";

/** An update that another one overwrote without having seen it. */
export interface LostUpdate {
  /** When it was overwritten. */
  readonly atMs: number;
  /** By what kind of storage. */
  readonly storage: StorageKind;
  /** What was updated. */
  readonly resource: string;
  /** The attempt that won the lock of the update that was lost. */
  readonly lost: string;
  /** The attempt that won the lock of the update that overwrote it. */
  readonly by: string;
}

/** Something that should not have been. */
export interface Incident {
  /** When it was noticed. */
  readonly atMs: number;
  /** What it was. */
  readonly what: string;
}

/** A last test: no fault is left, and every client that still lives asks for a lock. */
export interface Recovery {
  /** When it began. */
  readonly fromMs: number;
  /** How long it may take at the most until somebody has it, in milliseconds. */
  readonly boundMs: number;
  /** When the first client got it, or undefined if none did. */
  readonly lockedAtMs: number | undefined;
}

/** Something that happened and should not have, as a checker finds it. */
export interface Finding {
  /** When, in milliseconds of true time. */
  readonly atMs: number;
  /** What happened. */
  readonly what: string;
}

/** Whether two calls, locks or attempts want some of the same. */
export function overlap(a: Pick<WaiterRecord, "resources">, b: Pick<WaiterRecord, "resources">): boolean {
  return a.resources.some((resource) => b.resources.includes(resource));
}

/** Whether these are the first of those, and not all: what is collected one by one, in sorted order. */
export function isPartOf(some: readonly string[], all: readonly string[]): boolean {
  return some.length < all.length && some.every((resource, index) => all[index] === resource);
}
