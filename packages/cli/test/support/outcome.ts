/** The exit code and the output of a process. */
export interface Outcome {
  /** Null if a signal ended the process. */
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}
