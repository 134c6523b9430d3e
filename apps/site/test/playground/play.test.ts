import { describe, expect, it } from "vitest";
import { readAddress } from "../../src/playground/address.ts";
import { captionsOf } from "../../src/playground/captions.ts";
import { play } from "../../src/playground/play.ts";
import { withCountedTokens } from "../../src/playground/tokens.ts";
import { traceOf } from "../support/runs.ts";

describe("play()", () => {
  it("play() returns the run as plain data, with the deeds of the reader as the last faults", async () => {
    const hash = "#story=pause&do=crash C 30";
    const trace = withCountedTokens(await traceOf(hash));
    const faults = [
      { atMs: 50, what: "client 1 is paused for 2000 ms, between looking at its lock and acting" },
      { atMs: 30, what: "node C crashes for 1000 ms" },
    ];
    const run = { trace, broken: ["mutual exclusion"], faults, captions: captionsOf(trace) };
    expect(structuredClone(await play(readAddress(hash)))).toEqual({ run });
  });

  it.each([
    ["#story=none", 'there is no story "none"'],
    ["#story=toString", 'there is no story "toString"'],
    ["#story=pause&do=melt C 1", 'nobody can "melt" C at 1 ms'],
    ["#story=pause&do=pause C 1", 'nobody can "pause" C at 1 ms'],
    ["#story=pause&do=crash C soon", 'nobody can "crash" C at NaN ms'],
    ["#story=pause&do=crash C 1e300", 'nobody can "crash" C at 1e+300 ms'],
    ["#story=pause&do=crash", 'nobody can "crash"  at NaN ms'],
    [
      "#story=pause&do=crash F 1",
      'the fault "node crash" names "F", which is not one of A, B, C, D, E, client 1, client 2',
    ],
  ])("play() says why there is no run at %s", async (hash, error) => {
    expect(await play(readAddress(hash))).toEqual({ error });
  });
});
