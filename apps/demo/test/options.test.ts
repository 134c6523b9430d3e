import { describe, expect, it } from "vitest";
import { parseCommand } from "../src/options.ts";

describe("parseCommand()", () => {
  it("parseCommand() has defaults for everything", () => {
    const options = { redis: false, seconds: 20, workers: 6, broken: false, metrics: false };
    expect(parseCommand([])).toEqual({ kind: "run", options });
  });

  it("parseCommand() reads all options, also behind the -- that pnpm leaves", () => {
    const options = { redis: true, seconds: 8, workers: 3, broken: true, metrics: true };
    const args = ["--redis", "--seconds", "8", "--workers=3", "--break", "--metrics"];
    expect(parseCommand(args)).toEqual({ kind: "run", options });
    expect(parseCommand(["--", ...args])).toEqual({ kind: "run", options });
  });

  it("parseCommand() offers help", () => {
    expect(parseCommand(["--redis", "--help"])).toEqual({ kind: "help" });
  });

  it.each([
    [["--seconds", "4"], "--seconds must be a whole number from 5 to 600"],
    [["--seconds", "1e2"], "--seconds must be a whole number"],
    [["--workers", "1"], "--workers must be a whole number from 2 to 32"],
    [["--workers", ""], "--workers must be a whole number"],
    [["--seconds"], "--seconds"],
    [["--fast"], "--fast"],
    [["fast"], "fast"],
  ])("parseCommand() refuses %j, naming it", (args, message) => {
    expect(parseCommand(args)).toEqual({ kind: "bad", message: expect.stringContaining(message) });
  });
});
