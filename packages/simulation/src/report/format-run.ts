import type { Checker } from "../check/checkers.ts";
import { complete, type Scenario } from "../scenario/scenario.ts";
import { shrink } from "../shrink.ts";
import { type Run, type SimulateOptions, simulateUnchecked } from "../simulate.ts";
import { formatTimeline, type TimelineEvent } from "./timeline.ts";

/**
 * Explains a violation: shrinks the scenario to the parts that cause it, and returns the timeline of a run of these.
 *
 * @param scenario the scenario of the run
 * @param checker the checker that found the violation
 * @param options as in the run
 *
 * @example
 * ```ts
 * import { drawScenario, shrinkAndFormat, simulate } from "@holdfast/simulation";
 *
 * const scenario = drawScenario("lock-breaking", 1);
 * const [violation] = (await simulate(scenario)).violations;
 * if (violation !== undefined) console.log(await shrinkAndFormat(scenario, violation.checker));
 * ```
 */
export async function shrinkAndFormat(
  scenario: Scenario,
  checker: Checker,
  options: SimulateOptions = {},
): Promise<string> {
  const small = await shrink(scenario, checker, options);
  return formatRun(await simulateUnchecked(complete(small), { ...options, timeline: true }));
}

/**
 * Returns the timeline of a run with its violations. It leaves out the final test if no violation was found there.
 *
 * @param run a run with the option `timeline`
 *
 * @example
 * ```ts
 * import { drawScenario, simulate, formatRun } from "@holdfast/simulation";
 *
 * const run = await simulate(drawScenario("survivable", 1), { timeline: true });
 * console.log(formatRun(run));
 * ```
 */
export function formatRun({ timeline, violations, history }: Run): string {
  const found = violations.map(({ atMs, checker, what }): TimelineEvent => {
    return { atMs, who: "VIOLATED", what: `${checker}: ${what}` };
  });
  const lastMs = Math.max(...violations.map(({ atMs }) => atMs));
  const testFromMs = history.recovery?.fromMs ?? Infinity;
  const endMs = lastMs < testFromMs ? testFromMs : Infinity;
  return formatTimeline([...timeline.filter(({ atMs }) => atMs < endMs), ...found]);
}
