import { expect, test } from "vitest";
import { findRefused } from "../claims/prose.ts";

test.each([
  ["a page", "page.md", "The lock goes on.\nWhat is left is released."],
  ["a table", "page.md", "| rule |\n| --- |\n| What is left is released. |"],
  ["a doc comment", "code.ts", "/**\n * What is left is released.\n */"],
  ["a comment after code", "code.ts", "run(); // looks until it is looked for"],
  ["a message or a test name", "code.ts", 'test("the claim is in the way of others", () => {});'],
  ["a Lua comment", "code.lua", "-- What is left is released."],
])("prose in %s is checked", async (_, file, text) => {
  expect(await findRefused(file, text)).toHaveLength(1);
});

test("a question and a block of code are not refused", async () => {
  const page = "## What happens when a node fails?\n\n```ts\n// What is left is released.\n```\n";
  expect(await findRefused("page.md", page)).toEqual([]);
});

test("a line that is too long is named with its length", async () => {
  expect(await findRefused("code.ts", `// ${"word ".repeat(30)}`)).toEqual([expect.stringContaining("1: 1")]);
});
