import { describe, expect, it } from "vitest";
import { entryPoints, exportsProgram } from "../consumers/exports.ts";
import { problems, tableOf } from "../consumers/page.ts";

describe("entryPoints()", () => {
  it("returns the package and its other entry points", () => {
    expect(entryPoints({ name: "@x/y", exports: { ".": {}, "./broken": {} } })).toEqual(["@x/y", "@x/y/broken"]);
  });
});

describe("exportsProgram()", () => {
  it("imports or requires each entry point, and lists every name", () => {
    expect(exportsProgram({ a: ["b", "c"] }, "import")).toContain('import * as entry0 from "a";');
    expect(exportsProgram({ a: ["b", "c"] }, "require")).toContain('import entry0 = require("a");');
    expect(exportsProgram({ a: ["b", "c"] }, "require")).toContain("= { b: true, c: true };");
  });
});

const outcomes = [
  { table: "Types", row: "one", column: "a" },
  { table: "Types", row: "two", column: "b", problem: "it broke" },
] as const;

describe("tableOf()", () => {
  it("has a line per row, and a dash where nothing was tried", () => {
    expect(tableOf(outcomes)).toBe("|  | a | b |\n| --- | --- | --- |\n| one | ✓ | – |\n| two | – | ✗ |\n");
  });
});

describe("problems()", () => {
  it("names the trial that failed, and why", () => {
    expect(problems(outcomes)).toEqual(["two, b: it broke"]);
  });
});
