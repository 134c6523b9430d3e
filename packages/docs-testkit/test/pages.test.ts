import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readmeExamples, runExample } from "../src/index.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The output of each example of pages other than READMEs, as a program of a package. */
test.each([
  ["docs/election.md", "memory", [/^step in term \d{16}\nnobody leads\n$/, /^(vacant\n)?host-1 leads\n$/]],
  ["docs/changing-servers.md", "ioredis", [/^locked on 2 servers\n$/]],
] as const)("the examples of %s print what they should", { timeout: 90_000 }, async (page, folder, outputs) => {
  const examples = await readmeExamples(resolve(root, page));
  expect(examples).toHaveLength(outputs.length);
  for (const [index, { code }] of examples.entries()) {
    expect(await runExample(code, resolve(root, "packages", folder))).toMatch(outputs[index] as RegExp);
  }
});

test("docs/testing.md shows the tests of a recipe unchanged", async () => {
  const [shown] = await readmeExamples(resolve(root, "docs/testing.md"));
  expect(`${shown?.code}\n`).toBe(await readFile(resolve(root, "apps/recipes/test/testing-code.test.ts"), "utf8"));
});
