import { expect, test } from "vitest";
import { integer, readCommand } from "../src/program.ts";

test("readCommand() returns options, a text to print, or the reason for a refusal, and drops a leading --", () => {
  const read = (args: string[]) => (args[0] === "--help" ? "help" : { count: integer("--count", args[0] ?? "", 1, 9) });
  expect(readCommand(["5"], read)).toEqual({ kind: "run", options: { count: 5 } });
  expect(readCommand(["--", "--help"], read)).toEqual({ kind: "print", text: "help" });
  expect(readCommand(["0"], read)).toEqual({
    kind: "bad",
    message: '--count must be a whole number from 1 to 9, not "0"',
  });
});

test.each(["", "1e3", "-1", "0.5", "10"])("integer() refuses %j", (text) => {
  expect(() => integer("--n", text, 0, 9)).toThrow("--n must be a whole number from 0 to 9");
});
