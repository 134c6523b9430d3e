/** What a part of the run has found. */
export interface Findings {
  /** What it did, for the reader. */
  readonly lines: readonly string[];
  /** What must not be. */
  readonly problems: readonly string[];
}
