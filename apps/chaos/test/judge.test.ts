import { describe, expect, test } from "vitest";
import type { History } from "../src/history/visit.ts";
import { judge } from "../src/judge.ts";
import { nemeses } from "../src/nemeses/index.ts";
import type { Nemesis } from "../src/nemeses/nemesis.ts";
import type { SoakLock } from "../src/soak/program.ts";
import { createRecord } from "../src/soak/record.ts";
import type { Work } from "../src/soak/worker.ts";
import { historyOf, visit } from "./visits.ts";

function violations(kind: Nemesis["kind"], history: History): readonly string[] {
  const nemesis = nemeses.find((one) => one.kind === kind) as Nemesis;
  return judge(nemesis, history).violations;
}

const overlapping = [visit("c1", 10, 30), visit("c2", 20, 40)];
const noneLeft = { plain: [], fenced: [] };

describe("judge()", () => {
  test("judge() accepts locks that follow each other", () => {
    const history = historyOf([visit("c1", 10, 20), visit("c2", 20, 40)]);
    for (const kind of ["survivable", "lock-breaking"] as const) expect(violations(kind, history)).toEqual([]);
  });

  test("judge() accepts two holders only under a lock-breaking nemesis", () => {
    const history = historyOf(overlapping);
    expect(violations("survivable", history)).toEqual([
      "grants while another client held the lock: 1",
      "c2 (token 1020) got a lock 10 ms before that of c1 (token 1010) ended: released",
    ]);
    expect(violations("lock-breaking", history)).toEqual([]);
  });

  test("judge() accepts no lost update where tokens are checked", () => {
    const visits = [visit("c1", 10, 20, { plain: "skipped" })];
    for (const kind of ["survivable", "lock-breaking"] as const)
      expect(violations(kind, historyOf(visits, { sets: noneLeft }))).toEqual([
        "updates lost though the set checks tokens: 1",
      ]);
  });

  test("judge() accepts no token that does not grow", () => {
    const visits = [visit("c1", 10, 20), visit("c2", 30, 40, { fence: 1 })];
    for (const kind of ["survivable", "lock-breaking"] as const)
      expect(violations(kind, historyOf(visits))).toEqual(["tokens that are not larger than all before: 1"]);
  });

  test("judge() blames the lock for a lost update unless a write came after its end", () => {
    const lost = (plain: "written" | "late") =>
      historyOf([visit("c1", 10, 20, { plain, fenced: "refused" })], { sets: noneLeft });
    expect(violations("survivable", lost("written"))).toEqual([
      "updates lost though the lock was held all the time: 1",
    ]);
    expect(violations("survivable", lost("late"))).toEqual([]);
  });

  test("judge() reports waits that timed out", () => {
    const stuck = ["waited 15 s for a lock after the fault"];
    expect(violations("lock-breaking", historyOf([], { stuck }))).toEqual(stuck);
  });
});

describe("createRecord()", () => {
  const lock = (client: string, fromMs: number, toMs: number, more: Partial<SoakLock> = {}): SoakLock => ({
    ...{ ...visit(client, fromMs, toMs), resources: ["a", "b"], how: "acquire", isExtended: false, isNested: true },
    ...more,
  });
  const roundOf = (...locks: SoakLock[]): [Work] => [{ locks, gaveUp: 1, failures: [], hang: [] }];

  test("createRecord() accepts locks that follow each other, and counts them", () => {
    const record = createRecord();
    expect(record.add(roundOf(lock("p", 10, 20), lock("q", 15, 40, { resources: ["c"] })))).toEqual([]);
    expect(record.add(roundOf(lock("q", 20, 30, { resources: ["b"] })))).toEqual([]);
    expect(record.lines().join()).toMatch(/3; .* 3 by acquire, .* 1 of several resources, 3 nested, .* 2 given up/);
    expect(record.neverDone()).toContain("no lock was extended");
  });

  test("createRecord() finds two programs in one resource, and a lock that was lost", () => {
    const locks = [lock("p", 10, 20), lock("q", 15, 30, { resources: ["b", "c"], end: "lost" })];
    expect(createRecord().add(roundOf(...locks))).toEqual([
      "grants while another client held the lock: 1",
      "q (token 1015) got a lock 5 ms before that of p (token 1010) ended: released",
      "q lost its lock on b,c",
    ]);
  });

  test("createRecord() finds a token that does not grow, also after a round and in attempts at the same time", () => {
    const record = createRecord();
    record.add(roundOf(lock("p", 10, 20, { resources: ["a"], fence: 7 })));
    const locks = [lock("q", 30, 40, { resources: ["a"], fence: 7 }), lock("r", 50, 60, { fence: 6, attemptAtMs: 5 })];
    expect(record.add(roundOf(...locks))).toEqual(["tokens that are not larger than all before: 2"]);
  });
});
