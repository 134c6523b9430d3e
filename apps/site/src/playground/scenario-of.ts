import type { Scenario } from "@holdfast/simulation";
import type { Address, Subject } from "./address.ts";
import { scenarioOfPlay, withFaults } from "./free-play.ts";
import { stories } from "./stories.ts";

/** Returns the scenario of an address, with the faults of the reader. */
export async function scenarioOf({ subject, faults }: Pick<Address, "subject" | "faults">): Promise<Scenario> {
  return withFaults(await baseOf(subject), faults);
}

async function baseOf(subject: Subject): Promise<Scenario> {
  if (subject.kind === "play") return scenarioOfPlay(subject.play);
  if (subject.kind === "seed") return (await import("./draw.ts")).drawScenario(subject.faults, subject.seed);
  const story = stories.find(({ id }) => id === subject.id);
  if (story === undefined) throw new Error(`there is no story "${subject.id}"`);
  return story.scenario;
}
