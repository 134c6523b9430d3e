import { fileURLToPath } from "node:url";
import { readmeExamples, runExampleWithServers } from "@holdfast/testkit";
import { expect, test } from "vitest";

test("README.md: the adapter of the example works", { timeout: 60_000 }, async () => {
  const [example, ...others] = await readmeExamples(new URL("../README.md", import.meta.url));
  const printed = await runExampleWithServers(example?.code ?? "", fileURLToPath(new URL("..", import.meta.url)));
  expect(printed).toBe("{ owner: null, remainingMs: null, fence: 0 }\n");
  expect(others).toEqual([]);
});
