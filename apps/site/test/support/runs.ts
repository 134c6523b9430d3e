/** What tests of the playground without a browser share: runs, by their addresses. */
import { type Scenario, simulate, type Trace } from "@holdfast/simulation";
import { readAddress } from "../../src/playground/address.ts";
import { type PlayedRun, play, scenarioOf } from "../../src/playground/play.ts";

const runs = new Map<string, Promise<PlayedRun>>();

/** Returns the run of an address, as the page gets it. */
export function runOf(hash: string): Promise<PlayedRun> {
  const run = runs.get(hash) ?? played(hash);
  runs.set(hash, run);
  return run;
}

async function played(hash: string): Promise<PlayedRun> {
  const reply = await play(readAddress(hash));
  if ("error" in reply) throw new Error(reply.error);
  return reply.run;
}

/** Returns what the simulation records of a scenario, or of that of an address. */
export async function traceOf(scenario: Scenario | string): Promise<Trace> {
  const given = typeof scenario === "string" ? scenarioOf(readAddress(scenario)) : scenario;
  const { trace } = await simulate(given, { trace: true });
  if (trace === undefined) throw new Error("there is no trace");
  return trace;
}
