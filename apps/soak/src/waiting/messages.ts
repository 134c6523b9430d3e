/** What a worker process is started with. */
export interface WorkerOrder {
  /** Its name, such as `w1`. */
  readonly name: string;
  readonly seed: number;
  readonly urls: readonly string[];
}

/** What the parent tells a worker process. */
export type ToWorker =
  /** Start all programs. */
  | { readonly kind: "work" }
  /** End each program after what it is doing now. */
  | { readonly kind: "stop" }
  /** Measure the heap. */
  | { readonly kind: "measure" }
  /** Close all nodes and clients, and exit. */
  | { readonly kind: "close" }
  /** The answer to a report with this id. */
  | { readonly kind: "noted"; readonly id: number };

/** What a program reports. The parent answers each report, so that both see the same order of events. */
export type Report =
  | { readonly event: "wants"; readonly program: string; readonly resources: readonly string[]; readonly how: How }
  | { readonly event: "gaveUp"; readonly program: string }
  | {
      readonly event: "entered";
      readonly program: string;
      readonly resources: readonly string[];
      readonly fence: number;
    }
  | {
      readonly event: "leaves";
      readonly program: string;
      readonly resources: readonly string[];
      readonly isValid: boolean;
    }
  | { readonly event: "released"; readonly program: string };

/** What a worker process tells its parent. */
export type FromWorker =
  | { readonly kind: "ready" }
  | { readonly kind: "report"; readonly id: number; readonly report: Report }
  /** All programs have ended what they were doing. */
  | { readonly kind: "drained" }
  | { readonly kind: "measured"; readonly heapMb: number }
  /** Everything is closed; the kinds of what is still open. */
  | { readonly kind: "closed"; readonly left: readonly string[] }
  /** A program failed in a way in which it must not. */
  | { readonly kind: "failed"; readonly program: string; readonly message: string };

/** How a program asks for a lock. */
export type How = (typeof hows)[number];

/** All ways to ask for a lock. */
export const hows = ["acquire", "using", "time-out", "abort", "tryAcquire"] as const;
