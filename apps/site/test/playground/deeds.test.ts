import { describeFault, type Trace } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { readAddress } from "../../src/playground/address.ts";
import { actionsOf } from "../../src/playground/deeds.ts";
import { momentAt, steps } from "../../src/playground/moment.ts";
import { scenarioOf } from "../../src/playground/play.ts";
import { traceOf } from "../support/runs.ts";

/** What pictures show at the steps before a moment: every fifth of them. */
function picturesBefore(trace: Trace, atMs: number): unknown[] {
  const before = steps(trace).filter((each) => each < atMs);
  return before.filter((_, index) => index % 5 === before.length % 5).map((each) => momentAt(trace, each));
}

const cursorMs = 803.25;
const picturesOfFree = picturesBefore(await traceOf("#story=free"), cursorMs);
const deeds = ["A", "client 1"].flatMap((target) =>
  actionsOf(target, ["client 1", "client 2"]).map(({ id }) => `${id} ${target}`),
);

describe("scenarioOf()", () => {
  it.each(deeds)("scenarioOf() changes nothing before this deed, which strikes: %s", async (deed) => {
    const hash = `#story=free&do=${deed} ${cursorMs}`;
    const withIt = await traceOf(hash);
    expect(picturesBefore(withIt, cursorMs)).toEqual(picturesOfFree);
    const struck = withIt.events.filter(({ who }) => who === "fault");
    expect(struck.map(({ what }) => what)).toEqual(scenarioOf(readAddress(hash)).faults?.map(describeFault));
  });

  it("scenarioOf() changes nothing before a deed in the middle of a story", async () => {
    const without = await traceOf("#story=pause");
    const atMs = steps(without)[Math.floor(steps(without).length / 2)] ?? 0;
    const withIt = await traceOf(`#story=pause&do=forget A ${atMs}`);
    expect(picturesBefore(withIt, atMs)).toEqual(picturesBefore(without, atMs));
  });

  it.each([
    ["crash", "crash client 1 803.25", cursorMs],
    ["second pause", "pause client 1 688.591", 688.591],
  ])("scenarioOf() adds nothing before the %s of a client that is paused", async (_what, deed, atMs) => {
    const paused = "#story=free&do=pause client 1 700.1";
    const [without, withIt] = [await traceOf(paused), await traceOf(`${paused}&do=${deed}`)];
    const before = (trace: Trace) => steps(trace).filter((each) => each < atMs);
    expect(before(withIt)).toEqual(before(without));
    expect(picturesBefore(withIt, atMs)).toEqual(picturesBefore(without, atMs));
  });
});
