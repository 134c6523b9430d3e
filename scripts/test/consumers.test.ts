import { describe, expect, it } from "vitest";
import { importedPackages, insideFunction } from "../consumers/examples.ts";
import { entryPoints, exportsProgram } from "../consumers/exports.ts";
import { problems, table } from "../consumers/tables.ts";

describe("importedPackages()", () => {
  it("names packages, and neither their entry points, nor built-in modules, nor the program's own files", () => {
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
  it("leaves the imports at the top, and puts the rest where it can be awaited", () => {
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
  it("names the package and its further entry points", () => {
    expect(entryPoints({ name: "@x/y", exports: { ".": {}, "./broken": {} } })).toEqual(["@x/y", "@x/y/broken"]);
  });
});

describe("exportsProgram()", () => {
  it("imports or requires, and lists every name", () => {
    expect(exportsProgram({ a: ["b", "c"] }, "import")).toContain('import * as entry0 from "a";');
    expect(exportsProgram({ a: ["b", "c"] }, "require")).toContain('import entry0 = require("a");');
    expect(exportsProgram({ a: ["b", "c"] }, "require")).toContain("= { b: true, c: true };");
  });
});

describe("table()", () => {
  const outcomes = [
    { table: "t", row: "one", column: "a", cell: "✓" },
    { table: "t", row: "two", column: "b", cell: "✗", problem: "it broke" },
  ];

  it("has a line per row, and a dash where nothing was tried", () => {
    expect(table(outcomes)).toBe("|  | a | b |\n| --- | --- | --- |\n| one | ✓ | – |\n| two | – | ✗ |");
  });

  it("is accompanied by what failed, and where", () => {
    expect(problems(outcomes)).toEqual(["two, b: it broke"]);
  });
});
