import { readCommand } from "@holdfast/app-kit/program";
import { expect, test } from "vitest";
import { parseOptions } from "../src/options.ts";

test("parseOptions() has a default for every option", () => {
  const options = { redis: false, seconds: 20, workers: 6, broken: false, metrics: false };
  expect(parseOptions([])).toEqual(options);
});

test("parseOptions() reads all options", () => {
  const args = ["--redis", "--seconds", "8", "--workers=3", "--break", "--metrics"];
  expect(parseOptions(args)).toEqual({ redis: true, seconds: 8, workers: 3, broken: true, metrics: true });
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
