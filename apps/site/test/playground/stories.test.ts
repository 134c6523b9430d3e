import { type Checker, type StorageKind, simulate } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { stories } from "../../src/playground/stories.ts";
import { storyTexts } from "../../src/playground/story-texts.ts";
import { traceOf } from "../support/runs.ts";

const together: readonly Checker[] = ["mutual exclusion"];
const unfenced: readonly StorageKind[] = ["checks nothing"];

/** How each story ends: how many locks clients get, the promises that are broken, and the storages that lose an update. */
const ends: readonly [id: string, locks: number, broken: readonly Checker[], losers: readonly StorageKind[]][] = [
  ["pause", 2, together, unfenced],
  ["late-write", 2, [], unfenced],
  ["late-write-between", 2, [], ["checks writes", "checks nothing"]],
  ["guarded-table", 2, together, ["checks all", "checks writes", "checks nothing"]],
  ["node-clock", 2, together, unfenced],
  ["client-clock", 3, [], []],
  ["lost-reply", 2, [], []],
  ["restart", 2, together, unfenced],
  ["restart-guard", 2, [], []],
  ["split-vote", 3, [], []],
  ["rolling-restart", 12, [], []],
  ["free", 36, [], []],
];

describe("stories", () => {
  it("stories have texts, in the same order, and an end", () => {
    expect(storyTexts.map(({ id }) => id)).toEqual(Object.keys(stories));
    expect(ends.map(([id]) => id)).toEqual(Object.keys(stories));
  });

  it.each(ends)("stories: %s ends as it says", async (id, locks, broken, losers) => {
    const { history, violations, trace } = await simulate(stories[id] ?? { clients: [] }, { trace: true });
    expect({
      locks: history.locks.filter(({ grantedAtMs }) => grantedAtMs <= (trace?.endedAtMs ?? 0)).length,
      broken: violations.map(({ checker }) => checker),
      losers: history.lostUpdates.map(({ storage }) => storage),
    }).toEqual({ locks, broken, losers });
  });

  it("stories: rolling-restart lets clients take turns all the time", async () => {
    const { leases } = await traceOf("#story=rolling-restart");
    const gaps = leases.slice(1).map(({ fromMs }, index) => fromMs - (leases[index]?.untilMs ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(100);
  });
});
