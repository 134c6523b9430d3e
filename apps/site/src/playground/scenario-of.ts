import type { Scenario } from "@holdfast/simulation";
import type { Address, Subject } from "./address.ts";
import { scenarioOfPlay } from "./free-play.ts";
import { stories } from "./stories.ts";

/** Returns the scenario of an address. Faults of the reader change nothing before the first of them strikes. */
export async function scenarioOf({ subject, faults }: Pick<Address, "subject" | "faults">): Promise<Scenario> {
  const scenario = await baseOf(subject);
  return faults.length === 0 ? scenario : { ...scenario, faults: [...(scenario.faults ?? []), ...faults] };
}

async function baseOf(subject: Subject): Promise<Scenario> {
  if (subject.kind === "play") return scenarioOfPlay(subject.play);
  if (subject.kind === "seed") return (await import("./draw.ts")).drawScenario(subject.faults, subject.seed);
  const story = stories[subject.id];
  if (story === undefined) throw new Error(`there is no story "${subject.id}"`);
  return story;
}
