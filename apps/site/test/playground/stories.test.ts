import { simulate } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { stories } from "../../src/playground/stories.ts";

describe("stories", () => {
  it.each(stories.map((story) => [story.id, story] as const))("stories: %s ends as it says", async (_id, story) => {
    const { scenario, end } = story;
    const { history, violations, trace } = await simulate(scenario, { trace: true });
    const locks = history.locks.filter(({ grantedAtMs }) => grantedAtMs <= (trace?.endedAtMs ?? 0)).length;
    const losers = history.lostUpdates.map(({ storage }) => storage);
    expect({ violated: violations.map(({ checker }) => checker), losers, locks }).toEqual(end);
  });

  it("stories: rolling-restart lets clients take turns all the time", async () => {
    const story = stories.find(({ id }) => id === "rolling-restart");
    const { trace } = await simulate(story?.scenario ?? { clients: [] }, { trace: true });
    const leases = trace?.leases ?? [];
    const gaps = leases.slice(1).map(({ fromMs }, index) => fromMs - (leases[index]?.untilMs ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(100);
  });

  it("stories have ids that differ and fit an address", () => {
    const ids = stories.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^[a-z-]+$/.test(id))).toEqual([]);
  });
});
