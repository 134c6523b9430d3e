import { fileURLToPath } from "node:url";
import { readmeExamples, runExampleWithServers } from "@holdfast/testkit";
import { expect, test } from "vitest";

const examples = await readmeExamples(new URL("../README.md", import.meta.url));
const run = (code = ""): Promise<string> => runExampleWithServers(code, fileURLToPath(new URL("..", import.meta.url)));

test("README.md: the example gets a lock over three servers", { timeout: 60_000 }, async () => {
  expect(await run(examples[0]?.code)).toMatch(/^alone with invoice:42, fence \d{16}\n$/);
});

test("README.md: the example of a fenced store counts", { timeout: 60_000 }, async () => {
  expect(await run(examples[1]?.code)).toBe("visit 1\n");
  expect(examples).toHaveLength(2);
});
