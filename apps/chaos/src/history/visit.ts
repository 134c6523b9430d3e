/** A lock that was granted. All times are milliseconds on the machine's monotonic clock, which all processes share. */
export interface Grant {
  /** The client, such as `c1`. */
  readonly client: string;
  /** The resource, or several, separated by commas. */
  readonly resource: string;
  /** The name of the client's stage, such as `generation 0`. */
  readonly stage: string;
  /** The fencing token. */
  readonly fence: number;
  /** A time at or before the first request of the successful attempt. */
  readonly attemptAtMs: number;
  readonly grantedAtMs: number;
  /** The time from the call to the lock, including a change of stage meanwhile. */
  readonly waitedMs: number;
}

/** A lock from its grant on, as recorded by its client. */
export interface Visit extends Grant {
  /** The end of the right to rely on the lock: the release, the loss, or the end of the validity. */
  readonly heldUntilMs: number;
  /** Why it ended. */
  readonly end: "released" | "lost";
  /** When the write to the set without tokens was confirmed; null if there was none. */
  readonly wroteAtMs: number | null;
  /** The element that it added. */
  readonly element: string;
  /** The result of the write to the set without tokens. */
  readonly plain: "written" | "late" | "skipped";
  /** The result of the write to the set that checks tokens. */
  readonly fenced: "written" | "refused" | "skipped";
}

/** A fault, with its duration. */
export interface Band {
  /** The node or client that it struck. */
  readonly lane: string;
  readonly label: string;
  readonly fromMs: number;
  toMs: number;
}

/** The elements of the two sets at the end. */
export interface Sets {
  readonly plain: readonly string[];
  readonly fenced: readonly string[];
}

/** The record of one attack. */
export interface History {
  readonly fromMs: number;
  readonly toMs: number;
  readonly visits: readonly Visit[];
  readonly bands: readonly Band[];
  readonly sets: Sets;
  /** Waits that timed out, in words. */
  readonly stuck: readonly string[];
}
