/** What tests of the playground without a browser share: runs, by their addresses. */
import { type Scenario, simulate, type Trace } from "@holdfast/simulation";
import { type Address, readAddress } from "../../src/playground/address.ts";
import type { PlayFault } from "../../src/playground/free-play.ts";
import { type PlayedRun, play } from "../../src/playground/play.ts";
import { scenarioOf } from "../../src/playground/scenario-of.ts";

/** Reads an address that is not wrong. */
export function addressOf(hash: string): Address {
  const address = readAddress(hash);
  if ("error" in address) throw new Error(address.error);
  return address;
}

const runs = new Map<string, Promise<PlayedRun>>();

/** Returns the run of an address, as the page gets it. */
export function runOf(hash: string): Promise<PlayedRun> {
  const run = runs.get(hash) ?? played(hash);
  runs.set(hash, run);
  return run;
}

async function played(hash: string): Promise<PlayedRun> {
  const reply = await play(addressOf(hash));
  if ("error" in reply) throw new Error(reply.error);
  return reply.run;
}

/** Returns what the simulation records of a scenario, or of that of an address. */
export async function traceOf(scenario: Scenario | string): Promise<Trace> {
  const given = typeof scenario === "string" ? await scenarioOf(addressOf(scenario)) : scenario;
  const { trace } = await simulate(given, { trace: true });
  if (trace === undefined) throw new Error("there is no trace");
  return trace;
}

/** Returns the faults that these words of an address name: `crash:C:50:ever:kept`. */
export function faultsOf(...words: readonly string[]): readonly PlayFault[] {
  return words.length === 0 ? [] : addressOf(`#play=&do=${words.join(",")}`).faults;
}
