import { expect, test } from "vitest";
import type { Report } from "../src/soak/messages.ts";
import { createReferee } from "../src/soak/referee.ts";

const wants = (program: string, ...resources: string[]): Report => ({
  event: "wants",
  program,
  resources,
  how: "acquire",
});
const entered = (program: string, fence: number, ...resources: string[]): Report => ({
  event: "entered",
  program,
  resources,
  fence,
});
const leaves = (program: string, ...resources: string[]): Report => ({
  event: "leaves",
  program,
  resources,
  isValid: true,
});

test("createReferee() accepts locks that follow each other", () => {
  const referee = createReferee();
  for (const report of [
    entered("p", 1, "a", "b"),
    entered("q", 1, "c"),
    leaves("p", "a", "b"),
    { event: "released", program: "p" } as const,
    entered("q", 2, "b"),
  ]) {
    referee.note(report);
  }
  expect(referee.problems).toEqual([]);
  expect(referee.tally).toMatchObject({ several: 1, nested: 1 });
});

test("createReferee() finds two programs in one resource", () => {
  const referee = createReferee();
  referee.note(entered("p", 1, "a", "b"));
  referee.note(entered("q", 2, "b", "c"));
  expect(referee.problems).toEqual(["q entered b while p was in it"]);
});

test("createReferee() finds a token that does not grow", () => {
  const referee = createReferee();
  referee.note(entered("p", 7, "a"));
  referee.note(leaves("p", "a"));
  referee.note(entered("q", 7, "a"));
  expect(referee.problems).toEqual(["q entered a with token 7 after token 7"]);
});

test("createReferee() finds a lock that ended before its program did", () => {
  const referee = createReferee();
  referee.note(entered("p", 7, "a"));
  referee.note({ event: "leaves", program: "p", resources: ["a"], isValid: false });
  expect(referee.problems).toEqual(["p lost its lock on a"]);
});

test("describeWaits() lists the wanted resources and their holders", () => {
  let nowMs = 0;
  const referee = createReferee(() => nowMs);
  referee.note(entered("p", 1, "a"));
  referee.note(wants("p", "b", "c"));
  referee.note(entered("q", 1, "b"));
  referee.note(leaves("q", "b"));
  referee.note(wants("r", "a"));
  nowMs = 1_500;
  expect(referee.describeWaits()).toEqual([
    "p waits for b (free), c (free) by acquire since 1.5 s, and holds a",
    "r waits for a (p) by acquire since 1.5 s",
    "q waits for the end of its release",
  ]);
});
