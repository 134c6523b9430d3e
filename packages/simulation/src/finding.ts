/** Something that happened and should not have, as a checker finds it. */
export interface Finding {
  /** When, in milliseconds of true time. */
  readonly atMs: number;
  /** What happened. */
  readonly what: string;
}
