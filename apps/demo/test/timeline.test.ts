import { describe, expect, it } from "vitest";
import { timelineOf } from "../src/scenario/timeline.ts";
import { setupOf } from "../src/setup.ts";

describe("timelineOf()", () => {
  it.each([5, 8, 20, 600])("timelineOf(%s) leaves two nodes down for a while, and room for the pause", (seconds) => {
    const timeline = timelineOf(seconds);
    const acts = Object.values(timeline);
    expect(acts).toEqual(acts.toSorted((a, b) => a - b));
    expect(timeline.firstRestartMs - timeline.secondKillMs).toBeGreaterThanOrEqual(1000);
    const { ttlMs } = setupOf({ redis: false, seconds, workers: 2, broken: false, metrics: false });
    expect(timeline.endMs - timeline.pauseMs).toBeGreaterThan(1.5 * ttlMs);
  });
});
