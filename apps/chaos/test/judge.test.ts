import { describe, expect, test } from "vitest";
import { startJournal } from "../src/history/journal.ts";
import type { History, Visit } from "../src/history/visit.ts";
import { judge } from "../src/judge.ts";
import { nemeses } from "../src/nemeses/index.ts";
import type { Nemesis } from "../src/nemeses/nemesis.ts";
import { judgeRound } from "../src/soak/judge.ts";
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

describe("judgeRound()", () => {
  const judged = (visits: Visit[], last = new Map()) => judgeRound({ ...startJournal(), visits }, last);

  test("judgeRound() accepts locks that follow each other, and those of different resources", () => {
    const visits = [visit("p", 10, 20, { resource: "a,b" }), visit("q", 15, 40, { resource: "c" })];
    expect(judged([...visits, visit("r", 20, 30, { resource: "b" })])).toEqual([]);
  });

  test("judgeRound() finds two programs in one resource, and a lock that was lost", () => {
    const visits = [visit("p", 10, 20, { resource: "a,b" }), visit("q", 15, 30, { resource: "b,c", end: "lost" })];
    expect(judged(visits)).toEqual([
      "grants while another client held the lock: 1",
      "q (token 1015) got a lock 5 ms before that of p (token 1010) ended: released",
      "q lost its lock on b,c",
    ]);
  });

  test("judgeRound() finds a token that does not grow, also after a round and in attempts at the same time", () => {
    const last = new Map();
    judged([visit("p", 10, 20, { resource: "a", fence: 7 })], last);
    const visits = [visit("q", 30, 40, { resource: "a", fence: 7 }), visit("r", 50, 60, { resource: "a,b", fence: 6 })];
    expect(judged(visits, last)).toEqual(["tokens that are not larger than all before: 2"]);
  });
});
