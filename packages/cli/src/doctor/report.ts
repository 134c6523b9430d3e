import type { Server } from "../servers/servers.ts";
import { type CollectOptions, collectFacts } from "./collect.ts";
import type { Facts } from "./facts.ts";
import { type Diagnosis, findingsAgainst, judge } from "./judge.ts";
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

/** Looks at the servers, and judges what was seen. Ends by itself, whatever they do; it leaves nothing behind on them. */
export async function examine(servers: readonly Server[], options: CollectOptions, required: Level): Promise<Report> {
  const facts = await collectFacts(servers, options);
  return reportOf(facts, judge(facts), required);
}
