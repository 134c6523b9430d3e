import type { Server } from "../servers/server.ts";
import { type CollectOptions, collectFacts } from "./collect.ts";
import type { Facts } from "./facts.ts";
import type { Level } from "./finding-kind.ts";
import { type Diagnosis, findingsAgainst, judge } from "./judge.ts";

/** The complete report of the doctor, as `--json` prints it. Durations are in milliseconds. */
export interface Report extends Diagnosis, Facts {
  /** The required level. */
  readonly required: Level;
  /** Whether the required level is reached. */
  readonly ok: boolean;
}

/** Combines the facts, the diagnosis and the required level. */
export function reportOf(facts: Facts, diagnosis: Diagnosis, required: Level): Report {
  const ok = findingsAgainst(required, diagnosis.findings).length === 0;
  return { ok, required, ...diagnosis, ...facts };
}

/** Inspects and judges the servers. Always ends, whatever they do, and leaves no keys behind. */
export async function examine(servers: readonly Server[], options: CollectOptions, required: Level): Promise<Report> {
  const facts = await collectFacts(servers, options);
  return reportOf(facts, judge(facts), required);
}
