import { readCommand } from "@holdfast/app-kit/program";
import { expect, test } from "vitest";
import { parseOptions } from "../src/options.ts";

test("parseOptions() has a default for every option", () => {
  expect(parseOptions([])).toEqual({
    ...{ redis: false, locked: true, metrics: false, seconds: 20, workers: ["w1", "w2", "w3", "w4", "w5", "w6"] },
    redlock: { ttlMs: 2000, nodeTimeoutMs: 400, waitTimeoutMs: 1000 },
  });
});

test("parseOptions() reads all options", () => {
  expect(parseOptions(["--redis", "--seconds", "8", "--workers=3", "--break", "--metrics"])).toEqual({
    ...{ redis: true, locked: false, metrics: true, seconds: 8, workers: ["w1", "w2", "w3"] },
    redlock: { ttlMs: 1000, nodeTimeoutMs: 200, waitTimeoutMs: 500 },
  });
});

test("parseOptions() returns the help", () => {
  expect(parseOptions(["--redis", "--help"])).toContain("--break");
});

test.each([
  [["--seconds", "4"], "--seconds must be a whole number from 5 to 600"],
  [["--workers", "1"], "--workers must be a whole number from 2 to 32"],
  [["--seconds"], "--seconds"],
  [["--fast"], "--fast"],
  [["fast"], "fast"],
])("parseOptions() refuses %j and names it", (args, message) => {
  expect(readCommand(args, parseOptions)).toEqual({ kind: "bad", message: expect.stringContaining(message) });
});
