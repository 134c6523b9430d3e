import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { readmeExamples, runExample } from "../src/index.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

it("docs/changing-servers.md locks as a program in the joint stage", { timeout: 90_000 }, async () => {
  const examples = await readmeExamples(resolve(root, "docs/changing-servers.md"));
  expect(examples).toHaveLength(1);
  const printed = await runExample(examples[0]?.code ?? "", resolve(root, "packages/ioredis"));
  expect(printed).toBe("locked on 2 servers\n");
});
