import { expect, test } from "vitest";
import { parseCommand } from "../src/options.ts";
import { acts } from "../src/play.ts";
import { setupOf } from "./stories.ts";

test("parseCommand() reads all options, and has a default for each", () => {
  expect(setupOf()).toEqual({
    ...{ redis: false, locked: true, seconds: 20, workers: ["w1", "w2", "w3", "w4", "w5", "w6"] },
    redlock: { ttlMs: 2000, nodeTimeoutMs: 400, waitTimeoutMs: 1000 },
  });
  expect(setupOf("--redis", "--seconds", "8", "--workers=3", "--break")).toEqual({
    ...{ redis: true, locked: false, seconds: 8, workers: ["w1", "w2", "w3"] },
    redlock: { ttlMs: 1000, nodeTimeoutMs: 200, waitTimeoutMs: 500 },
  });
});

test.each([
  [["--seconds", "4"], "--seconds must be a whole number from 5 to 600"],
  [["--workers", "1"], "--workers must be a whole number from 2 to 32"],
  [["--seconds"], "--seconds"],
  [["--fast"], "--fast"],
  [["fast"], "fast"],
])("parseCommand() refuses %j and names it", (args, message) => {
  expect(parseCommand(args)).toEqual({ kind: "bad", message: expect.stringContaining(message) });
});

test.each([5, 8, 20, 600])(
  "acts of a run of %s s leave two nodes down for a while, and room for the pause",
  (seconds) => {
    const shares = Object.values(acts);
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect((acts.firstRestart - acts.secondKill) * seconds).toBeGreaterThanOrEqual(1);
    const { redlock } = setupOf("--seconds", String(seconds));
    expect((acts.end - acts.pause) * seconds * 1000).toBeGreaterThan(1.5 * redlock.ttlMs);
  },
);
