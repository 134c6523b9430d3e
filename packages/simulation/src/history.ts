/** What happened in a run, as far as the checkers judge it. Moments are true time in milliseconds. */
export interface History {
  /** All locks that clients were given, in the order in which they learnt of them. */
  readonly locks: readonly LockRecord[];
  /** Writes to the storage that were accepted although their writer had not read what they replaced. */
  readonly lostUpdates: readonly LostUpdate[];
  /** All calls that waited for a lock, each process's in the order in which they were made. */
  readonly waits: readonly WaitRecord[];
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
 * One call that waits for a lock, until it has the lock or an error. How long something takes is measured on the clock of
 * its process without its pauses.
 */
export interface WaitRecord {
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
  /** How long it is ready to wait, in milliseconds; 0 if it wants an answer at once. */
  readonly patienceMs: number;
  /** How long it waited, in milliseconds. */
  readonly waitedMs: number;
  /** How long it may wait, in milliseconds: until its patience ends, and the last attempt. */
  readonly mayWaitMs: number;
  /** The longest time for which nothing was tried for it although it was its turn, in milliseconds. */
  readonly idleMs: number;
  /** How long that may be, in milliseconds: one back-off, whatever becomes of wake-ups. */
  readonly mayIdleMs: number;
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
