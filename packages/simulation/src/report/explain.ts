import type { Checker } from "../check/checkers.ts";
import { complete, type Scenario } from "../scenario/scenario.ts";
import { shrink } from "../shrink.ts";
import { type Run, type SimulateOptions, simulateUnchecked } from "../simulate.ts";
import { formatTimeline, type TimelineEvent } from "./timeline.ts";

/**
 * Tells how a scenario comes to what a checker finds in it: shrinks it to what that takes, and writes the timeline of
 * the rest.
 */
export async function explain(scenario: Scenario, checker: Checker, options: SimulateOptions = {}): Promise<string> {
  const small = await shrink(scenario, checker, options);
  return tellStory(await simulateUnchecked(complete(small), { ...options, timeline: true }));
}

/** The timeline of a run with what the checkers found, up to the last test if nothing was found in that. */
export function tellStory({ timeline, violations, history }: Run): string {
  const found = violations.map(({ atMs, checker, what }): TimelineEvent => {
    return { atMs, who: "VIOLATED", what: `${checker}: ${what}` };
  });
  const lastMs = Math.max(...violations.map(({ atMs }) => atMs));
  const testFromMs = history.recovery?.fromMs ?? Infinity;
  const endMs = lastMs < testFromMs ? testFromMs : Infinity;
  return formatTimeline([...timeline.filter(({ atMs }) => atMs < endMs), ...found]);
}
