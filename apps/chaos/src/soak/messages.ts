/** What a worker process is started with. */
export interface WorkerOrder {
  /** Its name, such as `w1`. */
  readonly name: string;
  readonly seed: number;
  readonly urls: readonly string[];
}

/** An event of a program. The program waits for the parent to note it, so that both see the same order of events. */
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

/** The functions of the parent that a worker process calls. */
export interface ParentFunctions {
  /** Notes an event of a program. */
  note(report: Report): void;
  /** Notes an unexpected error of a program. */
  fail(program: string, message: string): void;
}

/** How a program asks for a lock. */
export type How = (typeof hows)[number];

/** All ways to ask for a lock. */
export const hows = ["acquire", "using", "time-out", "abort", "tryAcquire"] as const;
