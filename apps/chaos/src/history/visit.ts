/**
 * One lock, from its grant on, as its client saw it. All moments are milliseconds on the machine's one monotonic clock, so
 * that those of different processes can be compared.
 */
export interface Visit {
  /** The client, such as `c1`. */
  readonly client: string;
  /** The fencing token. */
  readonly fence: number;
  /** When the first request of the attempt that succeeded was sent, or earlier. */
  readonly attemptAtMs: number;
  readonly grantedAtMs: number;
  /** Until when the client had the right to believe that it held the lock: its release, its loss, or the end of validity. */
  readonly heldUntilMs: number;
  /** Why that ended. */
  readonly end: "released" | "lost";
  /** When its write to the set that nothing but the lock protects was confirmed; null if there was none. */
  readonly wroteAtMs: number | null;
  /** What it added to the sets. */
  readonly element: string;
  /** What became of the write to the set that nothing but the lock protects. */
  readonly plain: "written" | "late" | "skipped";
  /** What became of the write to the set that checks tokens. */
  readonly fenced: "written" | "refused" | "skipped";
}

/** A call for the lock that ended without one. */
export interface FailedCall {
  readonly client: string;
  readonly atMs: number;
  /** The `code` of the error, or the error itself. */
  readonly code: string;
}

/** A fault while it lasted. */
export interface Band {
  /** The node or client that it struck. */
  readonly lane: string;
  readonly label: string;
  readonly fromMs: number;
  toMs: number;
}

/** The elements of the two sets in the end. */
export interface Sets {
  readonly plain: readonly string[];
  readonly fenced: readonly string[];
}

/** All that is known of what happened under one attack. */
export interface History {
  readonly fromMs: number;
  readonly toMs: number;
  readonly visits: readonly Visit[];
  readonly failedCalls: readonly FailedCall[];
  readonly bands: readonly Band[];
  readonly sets: Sets;
  /** Moments at which a lock should have been granted and was not for long, in words. */
  readonly stuck: readonly string[];
}
