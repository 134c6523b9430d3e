import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { clauses } from "./clauses.ts";

it("docs/generated/web-locks.md has a row for each clause that is tested, and no other", async () => {
  const page = await readFile(new URL("../../../docs/generated/web-locks.md", import.meta.url), "utf8");
  const rows = page.split("\n").filter((line) => line.includes("](https://w3c.github.io/web-locks/#"));
  expect(rows.map((row) => row.split(" | ")[0])).toEqual(clauses.map(({ fact }) => `| ${fact}`));
  for (const { fact, notKept } of clauses) if (notKept) expect(page).toContain(`\n| ${fact} | ${notKept} |\n`);
});
