import { drawScenario } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { captionsOf } from "../../src/playground/captions.ts";
import { play } from "../../src/playground/play.ts";
import { shortNames } from "../../src/playground/short-names.ts";
import { addressOf, runOf, traceOf } from "../support/runs.ts";

describe("play()", () => {
  it("play() returns the run as plain data", async () => {
    const { trace } = shortNames(await traceOf("#story=pause"));
    const paused = "client 1 is paused for 2000 ms, between looking at its lock and acting";
    const faults = [{ kind: "pause before acting", atMs: 50, what: paused }];
    const what = "lock 1 and lock 2 on file are both believed to be valid";
    const violations = [{ checker: "mutual exclusion", atMs: trace.leases[1]?.fromMs, what }];
    const run = { trace, violations, faults, ttlMs: 1000, captions: captionsOf(trace), lines: expect.any(Array) };
    expect(structuredClone(await play(addressOf("#story=pause")))).toEqual({ run });
  });

  it("play() names only the storages that are drawn in its lines, and no attempts", async () => {
    const { lines } = await runOf("#story=pause");
    expect(lines.filter(({ who }) => /stor|fenc/i.test(who))).toMatchObject([
      { who: "With fencing", what: "refuses lock 1, token 1: it was shown token 2" },
      { who: "Without fencing", what: "loses the update of lock 2 on file: lock 1 had not read it" },
    ]);
    expect(lines.filter(({ what }) => /\d\.\d|fence/.test(what))).toEqual([]);
    expect(lines.map(({ what }) => what)).toContain("makes attempts 2 to 11, not granted");
  });

  it("play() puts the faults of the reader last", async () => {
    const { faults } = await runOf("#story=pause&do=crash:C:30:ever:kept");
    expect(faults.map(({ kind }) => kind)).toEqual(["pause before acting", "node crash"]);
  });

  it.each(["lock-breaking", "healed"] as const)(
    "play() runs a seed with %s faults as the simulation does",
    async (faults) => {
      const { trace } = await runOf(`#${faults}=4`);
      expect(trace).toEqual(await traceOf(drawScenario(faults, 4)));
    },
  );

  it.each([
    ["node", "crash:F:1:ever:kept"],
    ["client", "kill:3:1"],
  ])("play() returns an error as text if a fault names an unknown %s", async (_kind, fault) => {
    const error = expect.stringMatching(/names "(F|client 3)", which is not one of A, B/);
    expect(await play(addressOf(`#story=pause&do=${fault}`))).toEqual({ error });
  });
});
