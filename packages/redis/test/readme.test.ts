import { fileURLToPath } from "node:url";
import { readmeExamples, runExample, startRedisServer } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";

test("README.md: the adapter of the example works", { timeout: 60_000 }, async () => {
  const [example, ...others] = await readmeExamples(new URL("../README.md", import.meta.url));
  const { port, stop } = await startRedisServer();
  onTestFinished(stop);
  const code = (example?.code ?? "").replaceAll("7001", String(port));
  const printed = await runExample(code, fileURLToPath(new URL("..", import.meta.url)));
  expect(printed).toBe("{ owner: null, remainingMs: null, fence: 0 }\n");
  expect(others).toEqual([]);
});
