/** Simulates what an address names. */
import { type Checker, describeFault, type Scenario, simulate, type Trace } from "@holdfast/simulation";
import type { Address } from "./address.ts";
import { type Caption, captionsOf } from "./captions.ts";
import { faultOf } from "./deeds.ts";
import { stories } from "./stories.ts";
import { withCountedTokens } from "./tokens.ts";

/** What to simulate. */
export type PlayRequest = Pick<Address, "story" | "deeds">;

/** A run as plain data. */
export interface PlayedRun {
  readonly trace: Trace;
  /** The rules that the checkers found violated. */
  readonly broken: readonly Checker[];
  /** The faults of the scenario, in words. Those that the reader has added are the last ones. */
  readonly faults: readonly FaultInWords[];
  /** The run in sentences: what happens, and why it matters. */
  readonly captions: readonly Caption[];
}

/** A fault in words. */
export interface FaultInWords {
  /** When it strikes; undefined if it depends on a message. */
  readonly atMs: number | undefined;
  readonly what: string;
}

/** A run, or a text that says why there is none. */
export type PlayReply = { readonly run: PlayedRun } | { readonly error: string };

/** Simulates the scenario of an address. Never rejects. */
export async function play(request: PlayRequest): Promise<PlayReply> {
  try {
    const scenario = scenarioOf(request);
    const run = await simulate(scenario, { trace: true });
    if (run.trace === undefined) throw new Error("the run has no trace");
    const trace = withCountedTokens(run.trace);
    const faults = (scenario.faults ?? []).map((fault) => {
      return { atMs: "atMs" in fault ? fault.atMs : undefined, what: describeFault(fault) };
    });
    const broken = [...new Set(run.violations.map(({ checker }) => checker))];
    return { run: { trace, broken, faults, captions: captionsOf(trace) } };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * Returns the scenario of an address. The deeds of the reader change nothing before the first of them.
 *
 * @throws {RangeError} if there is no such story, or a deed is impossible
 */
export function scenarioOf({ story, deeds }: PlayRequest): Scenario {
  const scenario = Object.hasOwn(stories, story) ? stories[story] : undefined;
  if (scenario === undefined) throw new RangeError(`there is no story "${story}"`);
  const clients = scenario.clients.map(({ name }) => name);
  return { ...scenario, faults: [...(scenario.faults ?? []), ...deeds.map((deed) => faultOf(deed, clients))] };
}
