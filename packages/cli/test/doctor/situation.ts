import type { Code } from "../../src/doctor/catalogue.ts";
import type { Diagnosis } from "../../src/doctor/judge.ts";

/** Servers that show a finding. */
export interface Situation {
  readonly code: Code;
  /** The description of the servers. */
  readonly how: string;
  /** The other findings about them. */
  readonly also: readonly Code[];
  /** Starts the servers, and examines them. */
  examine(): Promise<Diagnosis>;
}
