import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { replaceTables } from "../lib/markdown.ts";
import { root } from "../lib/workspace.ts";

it.each([
  ["compatibility", 2],
  ["consumers", 4],
  ["web-locks", 2],
])("replaceTables() replaces the tables of docs/generated/%s.md, and keeps its text", async (name, count) => {
  const page = await readFile(join(root, `docs/generated/${name}.md`), "utf8");
  const tables = Array.from({ length: count }, (_, index) => `| table ${index} |\n| --- |\n`);
  const replaced = replaceTables(page, tables);
  expect(replaced.match(/^\|.*$/gm)?.join("\n")).toBe(tables.join("").trimEnd());
  expect(replaced.replaceAll(/^\|.*\n/gm, "")).toBe(page.replaceAll(/^\|.*\n/gm, ""));
  expect(() => replaceTables(page, tables.slice(1))).toThrow(`the page has ${count} tables instead of ${count - 1}`);
});
