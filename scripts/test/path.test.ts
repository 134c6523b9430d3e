import { describe, expect, it } from "vitest";
import { table } from "../path/table.ts";

const files = [
  { package: "redis", file: "keys.ts", functions: [{ name: "keyOf", calls: 4 }] },
  { package: "core", file: "waiting/index.ts", functions: [{ name: "enqueue", calls: 1 }] },
  {
    package: "core",
    file: "lock.ts",
    functions: [
      { name: "release", calls: 1 },
      { name: "", calls: 20 },
    ],
  },
];

function wordsOf(text: string): string[][] {
  return text.split("\n").map((line) => line.trim().split(/ +/));
}

describe("table()", () => {
  it("lists files by package and name, with totals", () => {
    expect(wordsOf(table("release", files))).toEqual([
      ["release", "files", "functions", "calls"],
      ["core", "2", "3", "22"],
      ["lock.ts", "2", "21"],
      ["waiting/index.ts", "1", "1"],
      ["redis", "1", "1", "4"],
      ["keys.ts", "1", "4"],
      ["together", "3", "4", "26"],
    ]);
  });

  it("lists the functions of each file with `names`", () => {
    expect(wordsOf(table("release", files.slice(2), true)).slice(2, -1)).toEqual([
      ["lock.ts", "2", "21"],
      ["release", "1"],
      ["(anonymous)", "20"],
    ]);
  });
});
