import {
  type Checker,
  drawScenario,
  explain,
  type FaultClassName,
  faultClasses,
  simulate,
  tellStory,
} from "@holdfast/simulation";

/** What one seed leads to: as little of it as shows what was broken, or all if nothing was. */
export async function showSeed(faults: FaultClassName, seed: number): Promise<{ text: string; broken: Checker[] }> {
  const scenario = drawScenario(faults, seed);
  const run = await simulate(scenario, { timeline: true });
  const broken = [...new Set(run.violations.map(({ checker }) => checker))];
  const worst = broken.find((checker) => !faultClasses[faults].mayBreak.includes(checker)) ?? broken[0];
  if (worst === undefined) return { broken, text: `${tellStory(run)}\n\nSeed ${seed}: everything holds.` };
  const story = await explain(scenario, worst);
  const heading = `Seed ${seed} breaks: ${broken.join(", ")}. Reduced to what it takes to break ${worst}:`;
  return { broken, text: `${heading}\n\n${story}` };
}
