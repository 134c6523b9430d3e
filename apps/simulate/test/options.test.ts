import { describe, expect, it, vi } from "vitest";
import { parseCommand } from "../src/options.ts";

const many = { kind: "many", from: 1, operations: 0, keeps: false };

describe("parseCommand()", () => {
  it("parseCommand() has runs of every class by default", () => {
    const runs = { survivable: 10_000, "lock-breaking": 1000, "fence-breaking": 200, healed: 300, changing: 300 };
    expect(parseCommand([])).toEqual({ kind: "run", options: { ...many, runs } });
  });

  it("parseCommand() reads runs for one class, or in proportion for all, also behind the -- that pnpm passes on", () => {
    expect(parseCommand(["--", "--runs", "500"])).toEqual({
      kind: "run",
      options: {
        ...many,
        runs: { survivable: 500, "lock-breaking": 50, "fence-breaking": 10, healed: 15, changing: 15 },
      },
    });
    expect(parseCommand(["--faults=lock-breaking", "--runs", "500", "--seed", "7"])).toEqual({
      kind: "run",
      options: { ...many, from: 7, runs: { "lock-breaking": 500 } },
    });
  });

  it("parseCommand() reads a number of operations for the first class", () => {
    expect(parseCommand(["--operations", "1000000"])).toEqual({
      kind: "run",
      options: {
        ...many,
        operations: 1_000_000,
        runs: { survivable: 0, "lock-breaking": 1000, "fence-breaking": 200, healed: 300, changing: 300 },
      },
    });
  });

  it("parseCommand() reads --long, --fresh and --keep", () => {
    vi.spyOn(Date, "now").mockReturnValue(Date.UTC(2026, 10, 23, 12));
    expect(parseCommand(["--long", "--fresh", "--keep", "--faults", "healed"])).toEqual({
      kind: "run",
      options: { ...many, from: 20_780_000_000, keeps: true, runs: { healed: 100_000 } },
    });
  });

  it("parseCommand() reads a seed alone as a run to show", () => {
    expect(parseCommand(["--seed", "17"])).toEqual({
      kind: "run",
      options: { kind: "one", faults: "survivable", seed: 17 },
    });
    expect(parseCommand(["--faults", "fence-breaking", "--seed", "0"])).toEqual({
      kind: "run",
      options: { kind: "one", faults: "fence-breaking", seed: 0 },
    });
  });

  it("parseCommand() reads --help", () => {
    expect(parseCommand(["--seed", "1", "--help"])).toEqual({
      kind: "print",
      text: expect.stringContaining("Usage: pnpm simulate"),
    });
  });

  it.each([
    [["--faults", "some"], "--faults must be survivable, lock-breaking, fence-breaking, healed, changing"],
    [["--runs", "0"], "--runs must be a whole number from 1"],
    [["--runs", "1e3"], "--runs must be a whole number"],
    [["--seed", "-1"], "--seed"],
    [["--operations"], "--operations"],
    [["--fast"], "--fast"],
    [["--fresh", "--seed", "1"], "--fresh and --seed"],
    [["--long", "--runs", "1"], "--long takes no --runs"],
    [["17"], "17"],
  ])("parseCommand() refuses %j and names it", (args, message) => {
    expect(parseCommand(args)).toEqual({ kind: "bad", message: expect.stringContaining(message) });
  });
});
