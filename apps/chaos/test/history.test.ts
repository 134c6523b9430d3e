import { expect, test } from "vitest";
import { gapsOf } from "../src/history/gaps.ts";
import { lossesOf } from "../src/history/losses.ts";
import { overlapsOf } from "../src/history/overlaps.ts";
import { tokenFaultsOf } from "../src/history/tokens.ts";
import { visit } from "./visits.ts";

test("overlapsOf() finds nothing where one begins when the other ends, in whatever order they are told", () => {
  expect(overlapsOf([visit("c2", 20, 30), visit("c1", 10, 20)])).toEqual([]);
});

test("overlapsOf() finds a grant during the validity of another lock, also of one that began long before", () => {
  const [long, short, late] = [visit("c1", 10, 100), visit("c2", 20, 30), visit("c3", 90, 120)];
  expect(overlapsOf([short, late, long])).toEqual([
    { earlier: long, later: short },
    { earlier: long, later: late },
  ]);
});

test("tokenFaultsOf() finds a token that is smaller than that of a lock that was complete before", () => {
  const wrong = visit("c2", 30, 40, { fence: 1 });
  expect(tokenFaultsOf([wrong, visit("c1", 10, 20)])).toEqual([wrong]);
});

test("tokenFaultsOf() allows any order to locks whose attempts went on at the same time, but no token twice", () => {
  const first = visit("c1", 10, 20, { fence: 7 });
  const meanwhile = { attemptAtMs: 5 };
  expect(tokenFaultsOf([first, visit("c2", 30, 40, { fence: 6, ...meanwhile })])).toEqual([]);
  expect(tokenFaultsOf([first, visit("c2", 30, 40, { fence: 7, ...meanwhile })])).toHaveLength(1);
});

test("lossesOf() finds what was confirmed and is missing, in each of the sets", () => {
  const [first, second] = [visit("c1", 10, 20), visit("c2", 15, 25, { plain: "late", fenced: "refused" })];
  const sets = { plain: [], fenced: [] };
  expect(lossesOf([first, second], sets)).toEqual({ plain: ["c1.10", "c2.15"], fenced: ["c1.10"] });
  expect(lossesOf([first, second], { plain: ["c1.10"], fenced: ["c1.10"] })).toEqual({ plain: ["c2.15"], fenced: [] });
});

test("lossesOf() does not expect what was never written", () => {
  const skipped = visit("c1", 10, 20, { plain: "skipped", fenced: "skipped" });
  expect(lossesOf([skipped], { plain: [], fenced: [] })).toEqual({ plain: [], fenced: [] });
});

test("gapsOf() counts the time in which nobody held the lock, where it is long enough to notice", () => {
  const visits = [visit("c1", 50, 300), visit("c2", 200, 400), visit("c1", 600, 1_200)];
  expect(gapsOf(visits, 0, 1_000)).toEqual({ longestMs: 200, availability: 0.8 });
  expect(gapsOf([], 0, 1_000)).toEqual({ longestMs: 1_000, availability: 0 });
});
