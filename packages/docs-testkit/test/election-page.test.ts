import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { readmeExamples, runExample } from "../src/index.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const examples = await readmeExamples(resolve(root, "docs/election.md"));

describe("docs/election.md", { timeout: 90_000 }, () => {
  it("docs/election.md leads for a step, and resigns", async () => {
    const printed = await runExample(examples[0]?.code ?? "", resolve(root, "packages/memory"));
    expect(printed).toMatch(/^step in term \d{16}\nnobody leads\n$/);
  });

  it("docs/election.md follows who leads", async () => {
    expect(examples).toHaveLength(2);
    const printed = await runExample(examples[1]?.code ?? "", resolve(root, "packages/memory"));
    expect(printed).toMatch(/^(vacant\n)?host-1 leads\n$/);
  });
});
