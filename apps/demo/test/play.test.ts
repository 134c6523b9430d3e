import { describe, expect, it } from "vitest";
import { parseOptions, type Setup } from "../src/options.ts";
import { acts, opening } from "../src/play.ts";

describe("acts", () => {
  it.each([5, 8, 20, 600])(
    "acts of a run of %s s leave two nodes down for a while, and room for the pause",
    (seconds) => {
      const shares = Object.values(acts);
      expect(shares).toEqual(shares.toSorted((a, b) => a - b));
      expect((acts.firstRestart - acts.secondKill) * seconds).toBeGreaterThanOrEqual(1);
      const { redlock } = parseOptions(["--seconds", String(seconds)]) as Setup;
      expect((acts.end - acts.pause) * seconds * 1000).toBeGreaterThan(1.5 * redlock.ttlMs);
    },
  );
});

describe("opening()", () => {
  it("opening() names the counters and what protects them", () => {
    expect(opening(parseOptions(["--redis"]) as Setup)).toBe(
      "6 workers (half of them over ioredis, half over node-redis) read, wait and write counters: only the lock protects orders, stock and report; ledger also checks fencing tokens.",
    );
    expect(opening(parseOptions(["--break"]) as Setup)).toContain("nothing protects orders, stock, report and ledger");
  });
});
