import { fileURLToPath } from "node:url";
import { simulateSeeds } from "@holdfast/simulation";
import { isNightly, type ProgramOutcome, runProgram } from "@holdfast/testkit";
import { watchForSleepers } from "@holdfast/testkit/sleepers";
import { describe, expect, it } from "vitest";
import { reportOf } from "../src/report.ts";
import { showSeed } from "../src/show-seed.ts";

const directory = fileURLToPath(new URL("..", import.meta.url));

/** Runs the program, and resolves with its output and exit code. */
function simulate(...args: string[]): Promise<ProgramOutcome> {
  return runProgram("src/main.ts", args, { cwd: directory });
}

describe("pnpm simulate", () => {
  it("pnpm simulate runs every class in threads with the results of one, and exits with 0 when every promise was kept", async () => {
    const { code, out } = await simulate("--runs", "11");
    expect(out).toMatch(/^survivable: .*\n {2}11 runs, [\d\s]+ operations, [\d\s]+ locks, [\d\s]+ of them shared\n/m);
    expect(out).toMatch(/^lock-breaking: .*\n {2}2 runs, /m);
    expect(out).toMatch(/^fence-breaking: .*\n {2}1 runs, /m);
    expect(out).toMatch(/\nEvery promise was kept\.\n$/);
    expect(out).not.toContain("\u001b");
    expect(code).toBe(0);
    // The results are the same each time, whichever thread simulates a seed.
    const tally = await simulateSeeds({ faults: "survivable", count: 11, invariant: watchForSleepers });
    expect(out).toContain(reportOf("survivable", tally));
  });

  if (isNightly) {
    it("pnpm simulate --operations continues until there are enough operations", async () => {
      const { out } = await simulate("--operations", "400", "--faults", "survivable");
      const [, operations = "none"] = /, ([\d ]+) operations/.exec(out) ?? [];
      expect(Number(operations.replaceAll(" ", ""))).toBeGreaterThanOrEqual(400);
    });
  }

  it("pnpm simulate --seed prints the same timeline each time", async () => {
    const first = await simulate("--seed", "3");
    expect(first.out).toMatch(/^ +ms {2}who +what\n/);
    expect(first.out).toContain("Seed 3: every promise is kept.");
    expect(first).toEqual({ code: 0, out: `${(await showSeed("survivable", 3)).text}\n`, err: "" });
  });

  it("pnpm simulate exits with 2 for unknown faults", async () => {
    const { code, err } = await simulate("--faults", "all");
    expect(err).toContain("simulate: --faults must be survivable");
    expect(code).toBe(2);
  });
});
