import { describe, expect, it } from "vitest";
import type { Run } from "../src/run.ts";
import { overlaps, staleWritesAccepted, tokenFaults, verdictOf } from "../src/verdict.ts";
import { goodRun, hearing, left, newRun, sampleTwice, visitOf } from "./stories.ts";

/** The claims that do not hold of a run. */
function violated(run: Run): string[] {
  return verdictOf(run).flatMap(([claim, holds]) => (holds ? [] : [claim]));
}

describe("verdictOf()", () => {
  it("verdictOf() accepts a good run", () => {
    expect(violated(goodRun())).toEqual([]);
  });

  it("verdictOf() rejects a run in which nothing happened", () => {
    expect(violated(newRun())).toEqual([
      "no update was lost",
      "the paused worker's late write was refused",
      "locks were granted while two nodes were down",
      "every worker finished cleanly",
    ]);
  });

  it("verdictOf() finds a lost update", () => {
    const run = goodRun();
    run.sample("orders", { value: 1 });
    expect(violated(run)).toEqual(["no update was lost"]);
    expect(verdictOf(run)[0]?.[2]).toBe("1 of 3 were lost");
  });

  it("verdictOf() finds two workers that held a lock at once", () => {
    const intruder = left({ worker: "w2", resource: "stock", fence: 21, enteredAtMs: 500, write: "none" });
    const run = hearing([left({ resource: "stock", fence: 20, write: "none" }), intruder], goodRun());
    expect(violated(run)).toEqual(["no two workers held the same lock at once"]);
    expect(verdictOf(run)[1]?.[2]).toBe("1 overlaps, the first of w1 and w2 on stock");
  });

  it("verdictOf() finds a token that did not grow", () => {
    const run = hearing([left({ fence: 11, enteredAtMs: 9000, write: "none" })], goodRun());
    expect(violated(run)).toEqual(["every lock had a larger token than those before"]);
  });

  it("verdictOf() finds an accepted stale write where tokens are checked", () => {
    const stale = (resource: string): Run => {
      const late = left({ resource, fence: 1, leftAtMs: 5000, wroteAtMs: 4900 });
      const run = hearing([late, left({ resource, fence: 2, enteredAtMs: 3000, worker: "w2" })], goodRun());
      sampleTwice(run, resource, 3);
      return run;
    };
    expect(violated(stale("ledger"))).toEqual(["no stale write was accepted"]);
    expect(violated(stale("stock"))).toEqual([]);
  });

  it("verdictOf() finds a late write that was not refused", () => {
    expect(violated(goodRun("none"))).toEqual(["the paused worker's late write was refused"]);
  });

  it("verdictOf() finds workers that failed or never finished", () => {
    const claim = "every worker finished cleanly";
    const failed = goodRun();
    failed.fail(new Error("out of order"), "w1");
    expect(violated(failed)).toEqual([claim]);
    const cutShort = goodRun();
    cutShort.fail(new Error("too slow"));
    expect(violated(cutShort)).toEqual([claim]);
    const unfinished = goodRun();
    unfinished.finished.delete("w2");
    expect(violated(unfinished)).toEqual([claim]);
  });
});

describe("overlaps()", () => {
  it("overlaps() compares visits of one resource, in any order of the reports", () => {
    const first = visitOf({ worker: "w1", enteredAtMs: 0 });
    const second = visitOf({ worker: "w2", enteredAtMs: 999 });
    expect(overlaps([second, first])).toEqual([[first, second]]);
    expect(overlaps([first, { ...second, resource: "stock" }])).toEqual([]);
    expect(overlaps([first, { ...second, enteredAtMs: 1000 }])).toEqual([]);
  });

  it("overlaps() finds one long visit around several others", () => {
    const long = visitOf({ leftAtMs: 9000, validUntilMs: 9000 });
    const others = [2000, 4000].map((enteredAtMs) => visitOf({ worker: "w2", enteredAtMs }));
    expect(overlaps([long, ...others])).toHaveLength(2);
  });

  it("overlaps() accepts a grant after the lock of a worker that is still inside has ended", () => {
    const paused = visitOf({ leftAtMs: 9000, validUntilMs: 2000 });
    expect(overlaps([paused, visitOf({ worker: "w2", enteredAtMs: 2000 })])).toEqual([]);
    expect(overlaps([paused, visitOf({ worker: "w2", enteredAtMs: 1999 })])).toHaveLength(1);
  });
});

describe("tokenFaults()", () => {
  it("tokenFaults() finds tokens that are equal or smaller, in the order of the grants", () => {
    const first = visitOf({ fence: 7 });
    const second = visitOf({ fence: 8, enteredAtMs: 1000 });
    expect(tokenFaults([second, first])).toEqual([]);
    expect(tokenFaults([first, { ...second, fence: 7 }])).toHaveLength(1);
    expect(tokenFaults([first, { ...second, fence: 6 }])).toHaveLength(1);
    expect(tokenFaults([first, { ...second, fence: 6, resource: "stock" }])).toEqual([]);
  });
});

describe("staleWritesAccepted()", () => {
  const late = visitOf({ leftAtMs: 5000, wroteAtMs: 4900 });

  it("staleWritesAccepted() finds a write after a later lock's read", () => {
    expect(staleWritesAccepted([late, visitOf({ enteredAtMs: 3000, readAtMs: 4800 })])).toEqual([late]);
  });

  it("staleWritesAccepted() ignores refused writes, and writes sent before the reply to that read", () => {
    const later = visitOf({ enteredAtMs: 3000, readAtMs: 4800 });
    expect(staleWritesAccepted([{ ...late, write: "refused" }, later])).toEqual([]);
    expect(staleWritesAccepted([late, { ...later, readAtMs: 4950 }])).toEqual([]);
    expect(staleWritesAccepted([late, { ...later, readAtMs: Infinity }])).toEqual([]);
  });
});
