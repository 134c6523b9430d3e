import { describe, expect, test } from "vitest";
import type { Run, Visit } from "../src/run.ts";
import { verdictOf } from "../src/verdict.ts";
import { goodRun, hearing, newRun, visitOf } from "./stories.ts";

/** The claims that do not hold of a run. */
function violated(run: Run): string[] {
  return verdictOf(run).flatMap(([claim, holds]) => (holds ? [] : [claim]));
}

const together = "no two workers held the same lock at once";
const tokens = "every lock had a larger token than those before";
const stale = "no stale write was accepted";
const stock = (details: Partial<Visit>): Visit => visitOf({ resource: "stock", fence: 20, ...details });
const ledger = (details: Partial<Visit>): Visit => visitOf({ resource: "ledger", fence: 2, ...details });
const late = ledger({ fence: 1, leftAtMs: 5000, wroteAtMs: 4900 });

describe("verdictOf()", () => {
  test.each<[run: string, visits: Visit[], claims: string[]]>([
    ["a good run", [], []],
    ["a worker that enters as another leaves", [stock({ fence: 21, enteredAtMs: 1000 }), stock({})], []],
    ["a worker that enters before another leaves", [stock({ fence: 21, enteredAtMs: 999 }), stock({})], [together]],
    ["workers that are inside at once, of two resources", [stock({}), stock({ resource: "report" })], []],
    [
      "a worker that enters when the lock of another has ended",
      [stock({ leftAtMs: 9000, validUntilMs: 2000 }), stock({ fence: 21, enteredAtMs: 2000 })],
      [],
    ],
    [
      "a worker that enters before the lock of another has ended",
      [stock({ leftAtMs: 9000, validUntilMs: 2000 }), stock({ fence: 21, enteredAtMs: 1999 })],
      [together],
    ],
    ["an equal token", [stock({}), stock({ enteredAtMs: 1000 })], [tokens]],
    ["a smaller token", [stock({}), stock({ fence: 19, enteredAtMs: 1000 })], [tokens]],
    ["a write after the read of a later lock", [late, ledger({ enteredAtMs: 3000, readAtMs: 4800 })], [stale]],
    ["one that was refused", [{ ...late, write: "refused" }, ledger({ enteredAtMs: 3000, readAtMs: 4800 })], []],
    ["one that was sent before the reply to that read", [late, ledger({ enteredAtMs: 3000, readAtMs: 4950 })], []],
    ["one after a later lock without a read", [late, ledger({ enteredAtMs: 3000, readAtMs: Infinity })], []],
    [
      "one where tokens are not checked",
      [stock({ leftAtMs: 5000, wroteAtMs: 4900 }), stock({ fence: 21, enteredAtMs: 3000 })],
      [],
    ],
  ])("verdictOf() judges %s", (_run, visits, claims) => {
    expect(violated(hearing(visits, goodRun()))).toEqual(claims);
  });

  test("verdictOf() finds one long visit around several others", () => {
    const others = [2000, 4000].map((enteredAtMs, index) => stock({ worker: "w2", fence: 21 + index, enteredAtMs }));
    const run = hearing([stock({ leftAtMs: 9000, validUntilMs: 9000 }), ...others], goodRun());
    expect(verdictOf(run)[1]?.[2]).toBe("2 overlaps, the first of w1 and w2 on stock");
  });

  test("verdictOf() rejects a run in which nothing happened", () => {
    expect(violated(newRun())).toEqual([
      "no update was lost",
      "the paused worker's late write was refused",
      "locks were granted while two nodes were down",
      "every worker finished cleanly",
    ]);
  });

  test("verdictOf() finds a lost update", () => {
    const run = goodRun();
    run.samples.set("orders", { value: 1, lost: 1 });
    expect(violated(run)).toEqual(["no update was lost"]);
    expect(verdictOf(run)[0]?.[2]).toBe("1 of 3 were lost");
  });

  test("verdictOf() finds a late write that was not refused", () => {
    expect(violated(goodRun("none"))).toEqual(["the paused worker's late write was refused"]);
  });

  test.each<[how: string, change: (run: Run) => void]>([
    ["failed", (run) => run.fail(new Error("out of order"), "w1")],
    ["were cut short", (run) => run.fail(new Error("too slow"))],
    ["never finished", (run) => run.finished.delete("w2")],
  ])("verdictOf() finds workers that %s", (_how, change) => {
    const run = goodRun();
    change(run);
    expect(violated(run)).toEqual(["every worker finished cleanly"]);
  });
});
