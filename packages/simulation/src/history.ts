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
  readonly client: string;
  readonly resources: readonly string[];
  readonly fence: number;
  /** When the attempt's first request was sent. */
  readonly startedAtMs: number;
  /** When the client was given the lock. */
  readonly grantedAtMs: number;
  /** When the client first and last saw the lock valid, or acted on having seen it; undefined if it never did. */
  readonly seenValid: { readonly fromMs: number; readonly untilMs: number } | undefined;
}

/** How a kind of storage treats fencing tokens. */
export type StorageKind = "checks all" | "checks writes" | "checks nothing";

/** An update that another one overwrote without having seen it. */
export interface LostUpdate {
  readonly atMs: number;
  readonly storage: StorageKind;
  readonly resource: string;
  /** The lock of the write that was lost, and of the one that overwrote it. */
  readonly lost: string;
  readonly by: string;
}

/** Something that should not have been. */
export interface Incident {
  readonly atMs: number;
  readonly what: string;
}

/** A last test: no fault is left, and every client that still lives asks for a lock. */
export interface Recovery {
  readonly fromMs: number;
  /** How long it may take at the most until somebody has it, in milliseconds. */
  readonly boundMs: number;
  /** When the first client got it, or undefined if none did. */
  readonly lockedAtMs: number | undefined;
}
