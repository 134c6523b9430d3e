import { emptyTally, type Tally } from "@holdfast/simulation";
import { describe, expect, it } from "vitest";
import { reportOf } from "../src/report.ts";

const none = emptyTally();

function broken(checker: keyof Tally["violations"]): Tally {
  const violations = { ...none.violations, [checker]: { runs: 3, firstSeed: 17 } };
  return { ...none, runs: 12_345, faults: { pause: 1, "late message": 1, "lost message": 2000 }, violations };
}

describe("reportOf()", () => {
  it("reportOf() lists the runs, the faults, and the checkers", () => {
    const tally = {
      ...none,
      runs: 12_345,
      operations: 6,
      locks: 5,
      sharedLocks: 2,
      handOvers: 4,
      notifications: 3210,
      turns: 1234,
    };
    expect(reportOf("survivable", tally).split("\n")).toEqual([
      "survivable: all faults that a lock must survive",
      "  12 345 runs, 6 operations, 5 locks, 2 of them shared",
      "  4 locks handed over within a process",
      "  3 210 notifications, 1 234 of them naming the next waiter",
      "  faults that struck: none",
      "  lost updates, in a storage that checks all 0, checks nothing 0, checks writes 0, is guarded 0",
      "  nonrepeatable reads, in a storage that checks all 0, checks nothing 0, checks writes 0, is guarded 0",
      "  ✔ mutual exclusion  holds",
      "  ✔ fence order       holds",
      "  ✔ fenced storage    holds",
      "  ✔ liveness          holds",
      "  ✔ progress          holds",
      "  ✔ fairness          holds",
      "  ✔ queue order       holds",
      "  ✔ cost              holds",
      "  ✔ bounds            holds",
      "  ✔ clean end         holds",
      "",
    ]);
  });

  it("reportOf() says what was broken, and by which seed", () => {
    const report = reportOf("survivable", broken("liveness"));
    expect(report).toContain("  ✘ liveness          broken in 3 runs, first by seed 17\n");
    expect(report).toContain("  faults that struck: lost message 2 000, late message 1, pause 1\n");
  });

  it("reportOf() expects lock-breaking faults to break mutual exclusion", () => {
    const report = reportOf("lock-breaking", broken("mutual exclusion"));
    expect(report).toContain("  ✔ mutual exclusion  broken in 3 runs, first by seed 17, as expected\n");
    expect(reportOf("lock-breaking", { ...none, runs: 1000 })).toContain(
      "  ✘ mutual exclusion  holds in all 1 000 runs: these faults prove nothing\n",
    );
  });
});
