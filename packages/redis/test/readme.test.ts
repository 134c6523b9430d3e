import { fileURLToPath } from "node:url";
import { readmeExamples, runExampleWithServers } from "@holdfast/testkit";
import { expect, test } from "vitest";

const examples = await readmeExamples(new URL("../README.md", import.meta.url));
const run = (code = ""): Promise<string> => runExampleWithServers(code, fileURLToPath(new URL("..", import.meta.url)));

test("README.md: the adapter of the example works", { timeout: 60_000 }, async () => {
  expect(await run(examples[0]?.code)).toBe("{ owner: null, remainingMs: null, fence: 0 }\n");
});

test("README.md: the fenced store of the example works", { timeout: 60_000 }, async () => {
  expect(await run(examples[1]?.code)).toBe("100 EUR\n");
  expect(examples).toHaveLength(2);
});
