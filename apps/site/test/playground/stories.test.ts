import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../src/playground/outcome.ts";
import { stories } from "../../src/playground/stories.ts";
import { storyTexts } from "../../src/playground/story-texts.ts";
import { runOf, traceOf } from "../support/runs.ts";

const together = "Two clients believed that they held the lock at the same time.";
const alone = (locks: number) => `${locks} locks were granted, and no two clients held the lock at the same time.`;
const refused = "with fencing, none: the storage refused token 1.";

/** How each story ends. */
const ends: Readonly<Record<string, string>> = {
  pause: `${together} Without fencing, 1 update was lost; ${refused}`,
  "late-write": `${alone(2)} Without fencing, 1 update was lost; ${refused}`,
  "late-write-between": `${alone(2)} Without fencing, 1 update was lost; with fencing of writes only, 1; ${refused}`,
  "guarded-table": `${together} Without fencing, 1 update was lost; with fencing, 1; in the guarded table, none.`,
  "node-clock": `${together} Without fencing, 1 update was lost; ${refused}`,
  "client-clock": `${alone(3)} No storage lost an update.`,
  "lost-reply": `${alone(2)} No storage lost an update.`,
  restart: `${together} Without fencing, 1 update was lost; ${refused}`,
  "restart-guard": `${alone(2)} No storage lost an update.`,
  "split-vote": `${alone(3)} No storage lost an update.`,
  "rolling-restart": `${alone(12)} No storage lost an update.`,
  free: `${alone(36)} No storage lost an update.`,
};

describe("stories", () => {
  it("stories have texts, in the same order, and an end", () => {
    expect(storyTexts.map(({ id }) => id)).toEqual(Object.keys(stories));
    expect(Object.keys(ends)).toEqual(Object.keys(stories));
  });

  it.each(Object.entries(ends))("stories: %s ends as outcomeOf() says", async (id, end) => {
    const run = await runOf(`#story=${id}`);
    expect(outcomeOf(run)).toBe(end);
    expect(outcomeOf({ ...run, broken: ["fence order"] })).toMatch(/ The rule “fence order” is violated\.$/);
  });

  it("stories: rolling-restart lets clients take turns all the time", async () => {
    const { leases } = await traceOf("#story=rolling-restart");
    const gaps = leases.slice(1).map(({ fromMs }, index) => fromMs - (leases[index]?.untilMs ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(100);
  });
});
