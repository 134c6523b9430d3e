import { fileURLToPath } from "node:url";
import { readmeExamples, runExample, startRedisServer } from "@holdfast/testkit";
import { expect, onTestFinished, test } from "vitest";

test("README.md: the example gets a lock over three servers", { timeout: 60_000 }, async () => {
  const [example, ...others] = await readmeExamples(new URL("../README.md", import.meta.url));
  let code = example?.code ?? "";
  for (const port of ["7001", "7002", "7003"]) {
    const server = await startRedisServer();
    onTestFinished(() => server.stop());
    code = code.replace(port, String(server.port));
  }
  const printed = await runExample(code, fileURLToPath(new URL("..", import.meta.url)));
  expect(printed).toMatch(/^alone with invoice:42, fence \d{16}\n$/);
  expect(others).toEqual([]);
});
