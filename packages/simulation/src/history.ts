/** What happened in a run, as far as the checkers judge it. Moments are true time in milliseconds. */
export interface History {
  /** All locks that clients were given, in the order in which they learnt of them. */
  readonly locks: readonly LockRecord[];
  /** Writes to the storage that were accepted although their writer had not read what they replaced. */
  readonly lostUpdates: readonly LostUpdate[];
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
