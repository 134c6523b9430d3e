import { expect, test } from "vitest";
import { runCommand } from "../src/commands/run.ts";
import { parseWords } from "../src/options/parse.ts";

test.each<[line: string, given: object]>([
  ["x", { resource: ["x"] }],
  ["x y 7 z:1 help -", { resource: ["x", "y", "7", "z:1", "help", "-"] }],
  ["x --no-wait y", { resource: ["x", "y"], "no-wait": [true] }],
  ["--ticket ticket1.WyJ4Il0", { ticket: ["ticket1.WyJ4Il0"] }],
  ["--wait 5s --ttl=1m x", { resource: ["x"], wait: ["5s"], ttl: ["1m"] }],
  ["x -E 1", { resource: ["x"], "conflict-exit-code": ["1"] }],
  ["x --conflict-exit-code=007 --label true", { resource: ["x"], "conflict-exit-code": ["007"], label: ["true"] }],
  ["--node redis://a --node=b:1 x --prefix=", { resource: ["x"], node: ["redis://a", "b:1"], prefix: [""] }],
  ["x --memory --memory --label='a'", { resource: ["x"], memory: [true, true], label: ["'a'"] }],
])("parseWords() finds what is in run %s", (line, given) => {
  expect(parseWords(runCommand, line.split(" "))).toEqual(given);
});

test.each([
  ["x --killAfter 1s", "Unknown argument: killAfter"],
  ["x -7", "Unknown argument: 7"],
  ["x --__proto__ y", "Unknown argument: __proto__"],
  ["x -E -1", "Not enough arguments following: conflict-exit-code"],
  ["x --memory=false", "--memory takes no value"],
  ["x --ttl", "Not enough arguments following: ttl"],
  ["x --wait 1s --no-wait", "Arguments no-wait and wait are mutually exclusive"],
])("parseWords() refuses run %s", (line, why) => {
  expect(() => parseWords(runCommand, line.split(" "))).toThrow(`${why}; see holdfast --help`);
});
