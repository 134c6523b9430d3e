import { describe, expect, it } from "vitest";
import { importedPackages, insideFunction } from "../consumers/examples.ts";
import { entryPoints, exportsProgram } from "../consumers/exports.ts";
import { problems, tableOf } from "../consumers/page.ts";

describe("importedPackages()", () => {
  it("returns packages, without entry points, built-in modules and files of the program", () => {
    const code = `import { a } from "@holdfast/core";
      import b, {
        type C,
      } from "vitest/config";
      import d from "node:fs";
      import { e } from "./e.ts";
      import "f";
      await import("@g/h/i");`;
    expect(importedPackages(code)).toEqual(["@holdfast/core", "vitest", "f", "@g/h"]);
  });
});

describe("insideFunction()", () => {
  it("keeps the imports at the top and moves the rest into an async function", () => {
    const code = `import { a } from "a";\nimport {\n  b,\n} from "b";\n\nawait a(b);\n`;
    expect(insideFunction(code)).toBe(
      `import { a } from "a";\nimport {\n  b,\n} from "b";

export const finished: Promise<void> = (async () => {
await a(b);
})();
`,
    );
  });
});

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
