/** An event of a run, with its time on the clock of `monotonicMs`. */
export type DemoEvent = Happening & { readonly atMs: number };

/** Emits an event that has just happened. */
export type Emit = (happening: Happening) => void;

/** The events that the model is computed from. */
export type Happening =
  | { readonly kind: "began" }
  | { readonly kind: "node-killed"; readonly node: string }
  | { readonly kind: "node-restarting"; readonly node: string }
  | { readonly kind: "node-back"; readonly node: string; readonly memory: "kept" | "lost"; readonly awayMs: number }
  | { readonly kind: "waiting"; readonly worker: string; readonly resource: string }
  | Entered
  | { readonly kind: "left"; readonly visit: Visit }
  | { readonly kind: "stopped-waiting"; readonly worker: string; readonly resource: string }
  /** Others held the resource until the worker stopped waiting. */
  | { readonly kind: "timed-out"; readonly worker: string; readonly resource: string }
  /** Too few nodes replied until the worker stopped waiting. */
  | { readonly kind: "unreachable"; readonly worker: string; readonly resource: string; readonly message: string }
  | { readonly kind: "lock-lost"; readonly worker: string; readonly resource: string; readonly message: string }
  | { readonly kind: "worker-finished"; readonly worker: string }
  | { readonly kind: "worker-failed"; readonly worker: string; readonly message: string }
  /** The scenario did not run to its end. */
  | { readonly kind: "cut-short"; readonly message: string }
  | { readonly kind: "paused"; readonly worker: string; readonly resource: string }
  | { readonly kind: "resumed"; readonly worker: string; readonly pausedMs: number }
  | Sampled;

/** A worker got a lock. */
export interface Entered {
  readonly kind: "entered";
  readonly worker: string;
  readonly resource: string;
  readonly fence: number;
  /** The time from the call to the lock. */
  readonly waitedMs: number;
}

/** A resource was inspected. */
export interface Sampled {
  readonly kind: "sampled";
  readonly resource: string;
  /** The worker whose claim a majority of the nodes holds, or null. */
  readonly holder: string | null;
  readonly remainingMs: number | null;
  /** The highest fence counter. */
  readonly fence: number;
  /** The counter in the database. */
  readonly value: number;
}

/** What a worker did under one lock: when it was inside, and how its write ended. */
export interface Visit {
  readonly worker: string;
  readonly resource: string;
  readonly fence: number;
  readonly enteredAtMs: number;
  readonly leftAtMs: number;
  /** The end of the validity, as last read by the worker, or the moment at which its signal aborted. */
  readonly validUntilMs: number;
  /** When the database replied to the read; null if it was never asked, or refused. */
  readonly readAtMs: number | null;
  /** When the write was sent; null if there was none. */
  readonly wroteAtMs: number | null;
  /** The result of the write. A refused read counts as a refused write, since none can follow. */
  readonly write: "accepted" | "refused" | "none";
  /** The larger token for which the database refused. */
  readonly newestFence: number | null;
}
