import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { runInThisContext } from "node:vm";
import { transform } from "esbuild";
import { expect, it } from "vitest";
import { root } from "../lib/workspace.ts";
import { pageOfCatches } from "../mutants/catches.ts";
import { isExecuted, recordExecution } from "../mutants/executed-code.ts";
import { lostTexts, mutants, pathOf } from "../mutants/mutants.ts";

it("each fault replaces a text that is once in its file, and leaves a program", async () => {
  expect(await lostTexts(mutants)).toEqual([]);
  for (const fault of mutants) {
    const code = await readFile(pathOf(fault), "utf8");
    const broken = code.replace(fault.from, () => fault.to);
    await expect(transform(broken, { loader: "ts" }), fault.fault).resolves.toBeDefined();
  }
});

it("recordExecution() counts from where the code starts in its script", () => {
  const filename = join(root, "packages/core/src/tried.ts");
  const wrapper = "'use strict'; ";
  const endRecord = recordExecution();
  runInThisContext(`${wrapper}(() => 1)();`, { filename });
  const executed = endRecord((path) => (path === filename ? wrapper.length : Number.NaN));
  const [ranges] = executed[filename] ?? [];
  expect(ranges).toContainEqual(["(".length, "(() => 1".length, 1]);
});

it("isExecuted() returns whether the innermost block around the change was executed", () => {
  const code = "f(() => { if (x) { a(); } b(); });";
  const block = [code.indexOf("{ a()"), code.indexOf(" b()")] as const;
  const instance = (whole: number, inBlock: number) =>
    [
      [0, code.length, whole],
      [...block, inBlock],
    ] as const;
  expect(isExecuted([instance(1, 0)], code, code.replace("a()", "c()"))).toBe(false);
  expect(isExecuted([instance(1, 0), instance(1, 2)], code, code.replace("a()", "c()"))).toBe(true);
  expect(isExecuted([instance(1, 0)], code, code.replace("b()", "c()"))).toBe(true);
  expect(isExecuted([instance(1, 0)], code, code.replace("if (x) {", "if (y) {"))).toBe(true);
  expect(isExecuted([instance(0, 1)], code, code.replace("{ a(); }", "c();"))).toBe(true);
  expect(isExecuted(undefined, code, code.replace("b()", "c()"))).toBe(false);
});

it("pageOfCatches() lists files that others make superfluous, and files that catch nothing", () => {
  const mutant = { rule: "S1", file: "a.ts", from: "a", to: "b" };
  const catches = new Map([
    [{ ...mutant, fault: "one" }, ["x", "y"]],
    [{ ...mutant, fault: "two" }, ["x"]],
  ]);
  const page = pageOfCatches(catches, ["z", "y", "x"]);
  expect(page).toContain("| S1 | one | 2 | x, y |");
  expect(page).toContain("| x | 2 | 1 |\n| y | 1 | 0 |\n| z | 0 | 0 |");
  expect(page).toContain("Others catch all faults that these files catch: y.\n\nThese catch none: z.");
});
