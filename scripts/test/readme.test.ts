import { resolve } from "node:path";
import { readmeExamples, runExampleWithServers } from "@holdfast/testkit";
import { expect, it } from "vitest";
import { root } from "../lib/workspace.ts";

it("the README's example gets a lock over five servers", { timeout: 90_000 }, async () => {
  const [example] = await readmeExamples(resolve(root, "README.md"));
  const printed = await runExampleWithServers(example?.code ?? "", resolve(root, "packages/ioredis"), 60_000);
  expect(printed).toMatch(/^alone with invoice:42 on a majority of five servers, fence \d{16}\n$/);
});
