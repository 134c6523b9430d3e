import { expect, test } from "vitest";
import { findRefused } from "../claims/prose.ts";

/** In two parts, as this file is checked, too. */
const refused = ["What", "is left is released."].join(" ");

test.each([
  ["a page", "page.md", `The lock expires.\n${refused}`],
  ["a table", "page.md", `| rule |\n| --- |\n| ${refused} |`],
  ["a doc comment", "code.ts", `/**\n * ${refused}\n */`],
  ["a comment after code", "code.ts", `run(); // ${refused}`],
  ["a message or a test name", "code.ts", `test("${refused}", () => {});`],
  ["a Lua comment", "code.lua", `-- ${refused}`],
])("prose in %s is checked", async (_, file, text) => {
  expect(await findRefused(file, text)).toHaveLength(1);
});

test("a question and a block of code are not refused", async () => {
  const page = `## What happens when a node fails?\n\n\`\`\`ts\n// ${refused}\n\`\`\`\n`;
  expect(await findRefused("page.md", page)).toEqual([]);
});

test("a line that is too long is named with its length", async () => {
  expect(await findRefused("code.ts", `// ${"word ".repeat(30)}`)).toEqual([expect.stringContaining("1: 1")]);
});
