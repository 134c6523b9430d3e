/** The results of a part of the run. */
export interface Findings {
  /** A summary for the reader. */
  readonly lines: readonly string[];
  /** The problems found. */
  readonly problems: readonly string[];
}
