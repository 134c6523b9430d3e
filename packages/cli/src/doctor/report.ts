import type { Facts } from "./facts.ts";
import { type Diagnosis, findingsAgainst } from "./judge.ts";
import type { Level } from "./levels.ts";

/** All that a run of the doctor has to say: what `--json` prints. Durations are in milliseconds. */
export interface Report extends Diagnosis, Facts {
  /** The level that was asked for. */
  readonly required: Level;
  /** Whether it is reached. */
  readonly ok: boolean;
}

/** Puts together what was seen, what is made of it, and what was asked for. */
export function reportOf(facts: Facts, diagnosis: Diagnosis, required: Level): Report {
  const ok = findingsAgainst(required, diagnosis.findings).length === 0;
  return { ok, required, ...diagnosis, ...facts };
}
