import { expect, test } from "vitest";
import { lossesOf } from "../src/history/checks.ts";
import { gapsOf } from "../src/history/gaps.ts";
import { visit } from "./visits.ts";

test("lossesOf() finds confirmed elements that are missing, in each of the sets", () => {
  const [first, second] = [visit("c1", 10, 20), visit("c2", 15, 25, { plain: "late", fenced: "refused" })];
  const sets = { plain: [], fenced: [] };
  expect(lossesOf([first, second], sets)).toEqual({ plain: ["c1.10", "c2.15"], fenced: ["c1.10"] });
  expect(lossesOf([first, second], { plain: ["c1.10"], fenced: ["c1.10"] })).toEqual({ plain: ["c2.15"], fenced: [] });
});

test("lossesOf() ignores elements that were never written", () => {
  const skipped = visit("c1", 10, 20, { plain: "skipped", fenced: "skipped" });
  expect(lossesOf([skipped], { plain: [], fenced: [] })).toEqual({ plain: [], fenced: [] });
});

test("gapsOf() counts noticeable gaps in which no client held the lock", () => {
  const visits = [visit("c1", 50, 300), visit("c2", 200, 400), visit("c1", 600, 1_200)];
  expect(gapsOf(visits, 0, 1_000)).toEqual({ longestMs: 200, availability: 0.8 });
  expect(gapsOf([], 0, 1_000)).toEqual({ longestMs: 1_000, availability: 0 });
});
