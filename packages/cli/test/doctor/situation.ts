import type { Diagnosis } from "../../src/doctor/judge.ts";

/** Servers that show a finding. */
export interface Situation {
  readonly code: string;
  /** The description of the servers. */
  readonly how: string;
  /** The other findings about them. Default: that there is a single server. */
  readonly also?: readonly string[];
  /** Starts the servers, and examines them. */
  examine(): Promise<Diagnosis>;
}
