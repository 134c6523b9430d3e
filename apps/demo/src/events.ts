/** What happens in a run, and when, on the clock of `monotonicMs`. */
export type DemoEvent = Happening & { readonly atMs: number };

/** Tells of something that has just happened. */
export type Emit = (happening: Happening) => void;

/** All that the model, and so the views and the verdict, get to know. */
export type Happening =
  | { readonly kind: "began" }
  | { readonly kind: "node-killed"; readonly node: string }
  | { readonly kind: "node-restarting"; readonly node: string }
  | { readonly kind: "node-back"; readonly node: string; readonly memory: "kept" | "lost"; readonly awayMs: number }
  | { readonly kind: "waiting"; readonly worker: string; readonly resource: string }
  | Entered
  | { readonly kind: "left"; readonly visit: Visit }
  | { readonly kind: "stopped-waiting"; readonly worker: string; readonly resource: string }
  /** Others held the resource for as long as the worker would wait. */
  | { readonly kind: "timed-out"; readonly worker: string; readonly resource: string }
  /** Too few nodes answered for as long as the worker would wait. */
  | { readonly kind: "unreachable"; readonly worker: string; readonly resource: string; readonly message: string }
  | { readonly kind: "lock-lost"; readonly worker: string; readonly resource: string; readonly message: string }
  | { readonly kind: "worker-finished"; readonly worker: string }
  | { readonly kind: "worker-failed"; readonly worker: string; readonly message: string }
  /** The scenario could not be played to its end. */
  | { readonly kind: "cut-short"; readonly message: string }
  | { readonly kind: "paused"; readonly worker: string; readonly resource: string }
  | { readonly kind: "resumed"; readonly worker: string; readonly pausedMs: number }
  | Sampled;

/** A worker has got a lock. */
export interface Entered {
  readonly kind: "entered";
  readonly worker: string;
  readonly resource: string;
  readonly fence: number;
  /** From the call to the lock. */
  readonly waitedMs: number;
}

/** A resource was looked at from outside. */
export interface Sampled {
  readonly kind: "sampled";
  readonly resource: string;
  /** The worker whose lock a majority of the nodes knows, or null. */
  readonly holder: string | null;
  readonly remainingMs: number | null;
  /** The highest fence counter. */
  readonly fence: number;
  /** What the counter in the database says. */
  readonly value: number;
}

/** What one worker did under one lock: the moments between which it was inside, and what came of its write. */
export interface Visit {
  readonly worker: string;
  readonly resource: string;
  readonly fence: number;
  readonly enteredAtMs: number;
  readonly leftAtMs: number;
  /** Until when the lock was valid: as foretold when the worker last looked, or until its signal aborted. */
  readonly validUntilMs: number;
  /** When the database had answered the read; null if it was never asked, or refused it. */
  readonly readAtMs: number | null;
  /** When the write was sent; null if there was none. */
  readonly wroteAtMs: number | null;
  /** What the database made of it. A refused read counts as a refused write: it can no longer lead to one. */
  readonly write: "accepted" | "refused" | "none";
  /** The larger token for which the database refused. */
  readonly newestFence: number | null;
}
