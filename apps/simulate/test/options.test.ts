import { describe, expect, it } from "vitest";
import { parseCommand } from "../src/options.ts";

const many = { kind: "many", from: 1, operations: 0 };

describe("parseCommand()", () => {
  it("parseCommand() has runs of every class by default", () => {
    const runs = { survivable: 10_000, "lock-breaking": 1000, "fence-breaking": 200 };
    expect(parseCommand([])).toEqual({ kind: "run", task: { ...many, runs } });
  });

  it("parseCommand() takes runs for one class, or in proportion for all, also behind the -- that pnpm leaves", () => {
    expect(parseCommand(["--", "--runs", "500"])).toEqual({
      kind: "run",
      task: { ...many, runs: { survivable: 500, "lock-breaking": 50, "fence-breaking": 10 } },
    });
    expect(parseCommand(["--faults=lock-breaking", "--runs", "500", "--seed", "7"])).toEqual({
      kind: "run",
      task: { ...many, from: 7, runs: { "lock-breaking": 500 } },
    });
  });

  it("parseCommand() takes a number of operations for the first class", () => {
    expect(parseCommand(["--operations", "1000000"])).toEqual({
      kind: "run",
      task: {
        ...many,
        operations: 1_000_000,
        runs: { survivable: 0, "lock-breaking": 1000, "fence-breaking": 200 },
      },
    });
  });

  it("parseCommand() takes a seed alone for one run that is told", () => {
    expect(parseCommand(["--seed", "17"])).toEqual({
      kind: "run",
      task: { kind: "one", faults: "survivable", seed: 17 },
    });
    expect(parseCommand(["--faults", "fence-breaking", "--seed", "0"])).toEqual({
      kind: "run",
      task: { kind: "one", faults: "fence-breaking", seed: 0 },
    });
  });

  it("parseCommand() takes the critique for a run of its own", () => {
    expect(parseCommand(["--critique"])).toEqual({ kind: "run", task: { kind: "critique" } });
  });

  it("parseCommand() offers help", () => {
    expect(parseCommand(["--seed", "1", "--help"])).toEqual({ kind: "help" });
  });

  it.each([
    [["--faults", "some"], "--faults must be survivable, lock-breaking, fence-breaking"],
    [["--runs", "0"], "--runs must be a whole number from 1"],
    [["--runs", "1e3"], "--runs must be a whole number"],
    [["--seed", "-1"], "--seed"],
    [["--operations"], "--operations"],
    [["--fast"], "--fast"],
    [["17"], "17"],
  ])("parseCommand() refuses %j, naming it", (args, message) => {
    expect(parseCommand(args)).toEqual({ kind: "bad", message: expect.stringContaining(message) });
  });
});
