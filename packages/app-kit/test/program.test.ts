import { expect, test } from "vitest";
import { type Given, readCommand } from "../src/program.ts";

const help = `Usage: program [options]

  --count N      how many, from 1 to 9; this line
                 has another one
  --only A,B     some of them
  --fast         faster
  --help         prints this
`;

function readWith<Options extends object>(read: (given: Given) => Options | string, ...args: string[]) {
  return readCommand(help, args, read);
}

test("readCommand() knows the options that the help lists, with and without a value, and drops a leading --", () => {
  const read = ({ flag, text, texts, integer, names }: Given) => {
    return { fast: flag("fast"), only: text("only"), all: texts("only"), count: integer("count", 3, 1, 9), names };
  };
  expect(readWith(read, "--", "--fast", "--only", "a", "--only=b")).toEqual({
    kind: "run",
    options: { fast: true, only: "b", all: ["a", "b"], count: 3, names: ["fast", "only"] },
  });
  expect(readWith(read, "--count", "5")).toEqual({
    kind: "run",
    options: { fast: false, only: undefined, all: [], count: 5, names: ["count"] },
  });
  expect(readWith(read, "--slow")).toEqual({ kind: "bad", message: expect.stringContaining("--slow") });
  expect(readWith(read, "word")).toEqual({ kind: "bad", message: expect.stringContaining("word") });
});

test("readCommand() reads words where the usage names any", () => {
  const usage = "Usage: program [red|green] [options]\n\n  --help  prints this\n";
  expect(readCommand(usage, ["red"], ({ words }) => ({ words }))).toEqual({ kind: "run", options: { words: ["red"] } });
});

test("readCommand() returns the help or another text to print, or the reason for a refusal", () => {
  const read = () => {
    throw new RangeError("not today");
  };
  expect(readWith(read, "--help")).toEqual({ kind: "print", text: help });
  expect(readWith(() => "a list")).toEqual({ kind: "print", text: "a list" });
  expect(readWith(read)).toEqual({ kind: "bad", message: "not today" });
});

test.each(["", "1e3", "-1", "0.5", "10"])("integer() refuses %j", (text) => {
  expect(readWith(({ integer }) => ({ count: integer("count", 1, 0, 9) }), `--count=${text}`)).toEqual({
    kind: "bad",
    message: `--count must be a whole number from 0 to 9, not ${JSON.stringify(text)}`,
  });
});
