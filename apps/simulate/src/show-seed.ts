import {
  type Checker,
  drawScenario,
  type FaultClassName,
  faultClasses,
  formatRun,
  shrinkAndFormat,
  simulate,
} from "@holdfast/simulation";
import { watchForSleepers } from "@holdfast/testkit/sleepers";

/** Tells the story of a seed: reduced to what breaks a promise, or complete if nothing is broken. */
export async function showSeed(faults: FaultClassName, seed: number): Promise<{ text: string; broken: Checker[] }> {
  const scenario = drawScenario(faults, seed);
  const run = await simulate(scenario, { timeline: true, invariant: watchForSleepers });
  const broken = [...new Set(run.violations.map(({ checker }) => checker))];
  const worst = broken.find((checker) => !faultClasses[faults].mayBreak.includes(checker)) ?? broken[0];
  if (worst === undefined) return { broken, text: `${formatRun(run)}\n\nSeed ${seed}: every promise is kept.` };
  const story = await shrinkAndFormat(scenario, worst, { invariant: watchForSleepers });
  const heading = `Seed ${seed} breaks: ${broken.join(", ")}. Reduced to the faults that break ${worst}:`;
  return { broken, text: `${heading}\n\n${story}` };
}
