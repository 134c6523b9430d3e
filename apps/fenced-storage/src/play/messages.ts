/** What A tells, one line of JSON each. */
export interface Message {
  /** `"pause"` when it is about to be paused; or the account that it has written to late. */
  readonly about: string;
  /** Whether the storage took the late write. */
  readonly isAccepted?: boolean;
}
