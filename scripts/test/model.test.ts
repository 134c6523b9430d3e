import { expect, it } from "vitest";
import { readOutcome, readRun } from "../model/output.ts";
import { problemsOf, table, told } from "../model/report.ts";

const clean = `
State-vector 44 byte, depth reached 6803, errors: 0
   814919 states, stored
 16718495 states, matched
 17533414 transitions (= stored+matched)
1.245e+08 atomic steps

unreached in init
\tfencing.pml:118, state 155, "assert(0)"
\tfencing.pml:334, state 377, "-end-"
\t(2 of 377 states)
`;
const holds = { title: "3 nodes", defines: [], expects: "holds" } as const;
const finds = { title: "forgetful", defines: [], expects: "run" } as const;

it("readOutcome() reads the figures of a complete search, and ignores steps that mark a failure", () => {
  const outcome = readOutcome(clean);
  expect(outcome).toEqual({ errors: 0, states: 814_919, transitions: 17_533_414, depth: 6_803, unreached: [] });
  expect(problemsOf(holds, { ...outcome, seconds: 1 }, undefined)).toEqual([]);
});

it.each([
  ["error: max search depth too small", clean.replace("\n", "\nerror: max search depth too small\n")],
  ["Warning: Search not completed", `${clean}\nWarning: Search not completed`],
  ["pan: reached -DMEMLIM bound", `${clean}\npan: reached -DMEMLIM bound`],
  ["the verifier printed no states", clean.replace("states, stored", "")],
  ["the verifier printed no errors", ""],
])("readOutcome() treats a search as incomplete that ended with: %s", (incomplete, output) => {
  const outcome = readOutcome(output);
  expect(outcome.incomplete).toBe(incomplete);
  expect(problemsOf(holds, { ...outcome, seconds: 1 }, undefined)).toContain(
    `the search is not complete: ${incomplete}`,
  );
});

it("problemsOf() names the steps of the model that are never taken", () => {
  const outcome = readOutcome(clean.replace('"assert(0)"', '"client[c].token = fence"'));
  expect(problemsOf(holds, { ...outcome, seconds: 1 }, undefined)).toEqual([
    'a step that is never taken: fencing.pml:118, state 155, "client[c].token = fence"',
  ]);
});

it("problemsOf() expects a violation of a wrong variant, and none of the protocol", () => {
  const right = { ...readOutcome(clean), seconds: 1 };
  const wrong = { ...right, errors: 1 };
  expect(problemsOf(holds, wrong, { steps: [] })).toEqual(["the property does not hold"]);
  expect(problemsOf(finds, wrong, { steps: [] })).toEqual([]);
  expect(problemsOf(finds, right, undefined)).toHaveLength(2);
  expect(table([{ search: finds, result: right, problems: ["none"] }])).toContain("**FAILED**");
});

it("told() shows each step with the holders, of whom several may share, and counters after it, and the violation at the end", () => {
  const run = readRun(`
    STEP A starts
    NODES 0:0 0:0
      STEP node 1 grants A: fence 12
      ALSO A hears it
      WRONG A and B have the same token, 12
      NODES 2:12 134:3
pan: anything else`);
  expect(told(run).split("\n")).toEqual([
    "                                           node 1  node 2",
    " 1  A starts                               –  0    –  0",
    " 2  node 1 grants A: fence 12; A hears it  A 12    AB 3",
    "    A and B have the same token, 12.",
  ]);
});
