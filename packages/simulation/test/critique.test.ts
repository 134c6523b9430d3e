import { describe, expect, it } from "vitest";
import { type CritiquedCase, critique, type Run, simulate, tellStory } from "../src/index.ts";

function pageOf(played: readonly { readonly critiqued: CritiquedCase; readonly run: Run }[]): string {
  const sections = played.map(({ critiqued, run }) => {
    const { title, story, without, withFencing } = critiqued;
    return [
      `## ${title}`,
      story,
      `\`\`\`\n${tellStory(run)}\n\`\`\``,
      `**Without fencing:** ${without}`,
      `**With fencing:** ${withFencing}`,
    ].join("\n\n");
  });
  return [heading, ...sections].join("\n\n").concat("\n");
}

const heading = `# The critique, played out

Martin Kleppmann's [How to do distributed locking](https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html)
tells how a lock that times out fails. Here each of its stories is a run of the simulation: the unchanged core, five nodes,
two clients in virtual time, and a storage that is asked three times over: once it checks the fencing token of every
access, once of writes only, and once of none. \`VIOLATED\` is what the checkers found.

This page is written by a test of \`packages/simulation\`, which fails when it is not what the runs come to.`;

describe("the critique", () => {
  it.each(critique.map((critiqued) => [critiqued.title, critiqued] as const))("%s", async (_title, critiqued) => {
    const { history, violations } = await simulate(critiqued.scenario);
    expect(violations.map(({ checker }) => checker)).toEqual(critiqued.violated);
    expect(history.lostUpdates.map(({ storage }) => storage)).toEqual(critiqued.losers);
    expect(critiqued.losers).not.toContain("checks all");
  });

  it("is told in docs/critique.md as it is played", async () => {
    const played = [];
    for (const critiqued of critique) {
      played.push({ critiqued, run: await simulate(critiqued.scenario, { timeline: true }) });
    }
    await expect(pageOf(played)).toMatchFileSnapshot("../../../docs/critique.md");
  });
});
