import { fileURLToPath } from "node:url";
import { readmeExamples, runExampleWithServers } from "@holdfast/testkit";
import { expect, test } from "vitest";

test("README.md: the example gets a lock over three servers", { timeout: 60_000 }, async () => {
  const [example, ...others] = await readmeExamples(new URL("../README.md", import.meta.url));
  const printed = await runExampleWithServers(example?.code ?? "", fileURLToPath(new URL("..", import.meta.url)));
  expect(printed).toMatch(/^alone with invoice:42, fence \d{16}\n$/);
  expect(others).toEqual([]);
});
