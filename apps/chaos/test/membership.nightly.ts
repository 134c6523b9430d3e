import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Cleanup, createCleanup } from "@holdfast/testkit/cleanup";
import { describe, expect, onTestFinished, test } from "vitest";
import { playMembership } from "../src/membership/run.ts";
import type { ChaosOptions } from "../src/options.ts";
import { threeToFiveToFive } from "../src/world/stages.ts";
import { changeCalmly, skipStage } from "./counter-examples.ts";

const directory = fileURLToPath(new URL("..", import.meta.url));
const small = { clients: 6, ttlMs: 3_000, seed: 1 };

/** Stops everything that a test has started. */
function cleanupOfTest(): Cleanup {
  const cleanup = createCleanup();
  onTestFinished(() => cleanup.run());
  return cleanup;
}

describe("pnpm chaos --membership", () => {
  test("clients lock without an error while servers change and are struck, and the report says so", async () => {
    const report = join(directory, "reports", "membership");
    await rm(report, { recursive: true, force: true });
    const options: ChaosOptions = {
      ...{ ...small, seconds: 1, nodes: 5, mode: "membership", nemeses: [], adapters: [] },
      report,
    };
    const sets = threeToFiveToFive.slice(0, 2);
    const isClean = await playMembership(options, cleanupOfTest(), new AbortController().signal, sets);
    expect(isClean).toBe(true);
    const page = await readFile(join(report, "README.md"), "utf8");
    expect(page).toContain("Nothing was violated.");
    expect(page).toMatch(
      /refused: does not serve clients of generation 0: it serves those of generation 0 with both sets/,
    );
  });

  test("clients that skip a stage hold locks that others hold if nodes do not check epochs", async () => {
    const { overlaps, violations } = await skipStage({ ...small, without: "epochs" }, cleanupOfTest());
    expect(overlaps).toBeGreaterThan(0);
    expect(violations.join()).toContain("grants while another client held the lock");
  });

  test("tokens go back if the operator writes no floor", async () => {
    // A joint client whose clock is ahead may raise all counters of the new set in time, as a floor would.
    const play = () => changeCalmly({ ...small, without: "floors" }, cleanupOfTest());
    let { tokenFaults, violations } = await play();
    for (let change = 2; change <= 4 && tokenFaults === 0; change++) ({ tokenFaults, violations } = await play());
    expect(tokenFaults).toBeGreaterThan(0);
    expect(violations).toEqual([`tokens that are not larger than all before: ${tokenFaults}`]);
  });
});
