import { critique, formatRun, simulate } from "@holdfast/simulation";

/** Plays each case of the critique, with and without fencing tokens. */
export async function showCritique(): Promise<string> {
  const stories = [];
  for (const { title, story, scenario, without, withFencing } of critique) {
    const timeline = formatRun(await simulate(scenario, { timeline: true }));
    stories.push(`${title}\n\n${story}\n\n${timeline}\n\nWithout fencing: ${without}\nWith fencing: ${withFencing}`);
  }
  return stories.join("\n\n\n");
}
